import type { ServerHttp2Stream } from "node:http2";

const cut = new Error("the activator cut the stream");

/**
 * Resets a stream with INTERNAL_ERROR, so that the client cannot take the response for complete. Node's own `close` (24.21) ends the
 * stream first if everything was written, and a response without a length would look complete.
 */
export function cutStream(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.destroy(cut);
}
