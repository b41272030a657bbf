import type { ClientHttp2Stream, ServerHttp2Stream } from "node:http2";

/**
 * Cuts a closed stream off from everything that listened to it.
 *
 * V8 puts a function literal that is assigned to a property into the old space at once. Each Writable of Node has one, and it refers to its
 * stream. Until the next full collection, the closed stream would keep its whole exchange alive, and each collection of young objects would
 * copy it.
 */
export function detachStream(stream: ServerHttp2Stream | ClientHttp2Stream): void {
  stream.removeAllListeners();
  stream.on("error", ignore); // nothing is expected after "close", but an error without a listener would end the process
  stream.push = pushNothing;
}

const ignore = () => {};
const pushNothing = () => false;
