import { constants, type Http2Session, type Http2Stream } from "node:http2";
import { hasPendingFrames } from "./node-internals/native-handles.ts";
import type { ReadShare } from "./read-share.ts";

/**
 * Whether nghttp2 has given up a session with open streams, and Node has told nobody. Call it for each step of a session that has sent a
 * GOAWAY, or may have.
 *
 * Behind a GOAWAY of ours, Node (24.21) does not report most of the frames that the protocol forbids. nghttp2 sends one more GOAWAY with the
 * error, and then neither reads nor writes. Node stops reading, so it does not see the end of the connection either, and its streams stay
 * open for ever. A stream that nghttp2 has closed is another matter: Node keeps it until what has come is read.
 *
 * If this Node does not tell what nghttp2 wants, the connection is read on all the same: then at least its end is seen.
 */
export function hasGivenUp(
  session: Http2Session,
  streams: Iterable<Http2Stream>,
  share: ReadShare,
  isPending: (session: Http2Session) => boolean | undefined = hasPendingFrames,
): boolean {
  if (session.destroyed) return false; // Node has closed its streams
  const isAlive = isPending(session);
  if (isAlive === undefined) share.readAnyway();
  if (isAlive !== false) return false;
  for (const stream of streams) if (isOpen(stream)) return true;
  return false;
}

const { NGHTTP2_STREAM_STATE_IDLE: unknown, NGHTTP2_STREAM_STATE_CLOSED: closed } = constants;

/** Whether nghttp2 has not closed it. */
function isOpen(stream: Http2Stream): boolean {
  const { state } = stream.state;
  return state !== undefined && state !== unknown && state !== closed;
}
