import { notifyDrain } from "./doors.ts";
import { heldWrites } from "./node-inners.ts";
import { type WireSocket, writeAheadBytes } from "./wire-socket.ts";

/** What each write in a queue costs beside its bytes, in bytes: Node keeps several objects for it. */
const writeWeight = 512;

/** Sockets whose queue ends with a marker: once that was sent, `drained` follows. */
const marked = new WeakSet<WireSocket>();

/**
 * Whether the queue is so heavy that nothing should be added; then `drained` follows. The other side chooses the size of its
 * pieces, and each is one write: with single bytes, the queue would have sixteen thousand. Once nothing is read, the kernel joins
 * the pieces. Over TLS, Node would stop at 65,536 bytes: it passes no option on to a socket that it accepts.
 */
export function isBehind(socket: WireSocket): boolean {
  const { writableLength, writableHighWaterMark } = socket;
  if (writableLength === 0) return false;
  if (writableLength >= writableHighWaterMark) return true; // Node reports when it was sent
  if (!socket.writable || writableLength + writeWeight * heldWrites(socket) < writeAheadBytes) return false;
  if (!marked.has(socket)) mark(socket);
  return true;
}

/** Node reports that the queue was sent only if it had many bytes, or for a write. */
function mark(socket: WireSocket): void {
  marked.add(socket);
  socket.write("", "latin1", () => {
    marked.delete(socket);
    if (!socket.destroyed) notifyDrain.call(socket);
  });
}
