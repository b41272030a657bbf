import type { Http2Stream } from "node:http2";

const cut = new Error("the activator cut the stream");

/**
 * Resets a stream with INTERNAL_ERROR, or the code that Node has for another error, so that the client cannot take the response for
 * complete. Node's own `close` (24.21) ends the stream first if everything was written, and a response without a length would look
 * complete.
 *
 * A stream that is being closed is cut after that: Node tells of a close before it submits the reset, and a stream that is destroyed
 * in between gets none. Then nghttp2 still has the stream and asks Node for its data, gets neither data nor an end, and asks again
 * for ever (Node 24.21): the process stops, and its memory grows until it is killed.
 */
export function cutStream(stream: Http2Stream, error: Error = cut): void {
  if (stream.destroyed) return;
  if (!stream.closed) stream.destroy(error);
  else setImmediate(() => stream.destroy(error));
}

const cuts = new WeakMap<object, () => void>();

/** `cutConnection` ends this session so. */
export function isCutBy(session: object, cutSession: () => void): void {
  cuts.set(session, cutSession);
}

/** Cuts a stream together with its connection, and with all that waits there. */
export function cutConnection(stream: Http2Stream): void {
  const cutSession = stream.session && cuts.get(stream.session);
  if (cutSession) cutSession();
  else cutStream(stream);
}
