import { reportUnexpected } from "../../lib/guard/guard.ts";
import { ReadTurns } from "./read-turns.ts";
import { noReader } from "./unasked.ts";
import { commonBuffer, type SocketReader, type WireSocket } from "./wire-socket.ts";

/** One event loop reads all sockets of the process. */
const turns = new ReadTurns(() => performance.now());

// All calls of Node to a reader go through these functions. An error of a reader stops here, because it would end the process.

/** Whether to read on. */
export function takeRead(this: WireSocket, length: number, bytes: Buffer): boolean {
  try {
    const began = turns.beganAt(length);
    this.reader.take(bytes, length);
    if (turns.endsWith(this, length, began)) return false;
    return this.reader.wantsMore; // the reader may have changed
  } catch (error) {
    return ended(this, error);
  }
}

/** `socket`: the reader's; absent while it is being created. */
export function bufferOf(reader: SocketReader, socket: WireSocket | undefined): Buffer {
  try {
    return reader.nextBuffer();
  } catch (error) {
    if (socket) ended(socket, error);
    return commonBuffer;
  }
}

export function wantsMore(socket: WireSocket): boolean {
  try {
    return !turns.isOverFor(socket) && socket.reader.wantsMore;
  } catch (error) {
    return ended(socket, error);
  }
}

export function wantsRest(socket: WireSocket): boolean {
  try {
    return socket.reader.writeFailed();
  } catch (error) {
    reportUnexpected("socket", error);
    return false;
  }
}

/**
 * Linux and libuv may report a reset as an end, if the reset comes right behind data (one in fifty). Then a response, or what a
 * client sends, would look complete. A socket with a handle has read once more before. For others a write of no bytes finds it out: it
 * fails with ECONNRESET, and "close" follows. While bytes wait to be sent, their own write fails.
 */
export function notifyEnd(this: WireSocket): void {
  const isEncrypted = "encrypted" in this; // TLS has an end of its own
  if (isEncrypted || this.isEndChecked || !this.writable || this.writableLength > 0) return tellEnd(this);
  this.write("", "latin1", (error) => {
    if (!isReset(error) && !this.destroyed) tellEnd(this);
  });
}

const isReset = (error: Error | null | undefined) => error && "code" in error && error.code === "ECONNRESET";

function tellEnd(socket: WireSocket): void {
  try {
    socket.reader.ended();
  } catch (error) {
    ended(socket, error);
  }
}

export function notifyDrain(this: WireSocket): void {
  try {
    this.reader.drained();
  } catch (error) {
    ended(this, error);
  }
}

export function notifyClosed(socket: WireSocket, hadError: boolean): void {
  turns.forget(socket);
  try {
    socket.reader.closed(hadError);
  } catch (error) {
    reportUnexpected("socket", error);
  }
  socket.reader = noReader; // Node keeps a closed socket until the next full collection, and it would keep its reader
}

/** The connection is broken; a reset shows that to the other side, whatever was sent. */
function ended(socket: WireSocket, error: unknown): false {
  reportUnexpected("socket", error);
  socket.reset();
  return false;
}
