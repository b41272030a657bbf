import { Socket } from "node:net";
import { bufferOf, notifyClosed, notifyDrain, notifyEnd, takeRead, wantsMore, wantsRest } from "./doors.ts";
import { EndTurns } from "./end-turns.ts";
import { readsAgain } from "./node-inners.ts";
import { countSocket } from "./open-sockets.ts";
import { resetSocket } from "./reset-socket.ts";
import { noReader, Unasked } from "./unasked.ts";
import { commonBuffer, type SocketReader, type WireSocket, writeAheadBytes } from "./wire-socket.ts";

/** One event loop reports the ends of all sockets of the process. */
const endTurns = new EndTurns<OnReadSocket>();

/** A socket that Node reads by `onread`, into the buffers of its reader. */
export class OnReadSocket extends Socket implements WireSocket {
  readonly #held: { reader: SocketReader };
  #inputEnded = false;
  #isEndChecked = false;
  /** Its end, or the failure of a read, waits for its turn. */
  #isWaiting = false;
  #readError: Error | undefined;

  constructor(handle: unknown, first: Buffer) {
    const held: { reader: SocketReader; socket?: WireSocket } = {
      reader: first === commonBuffer ? noReader : { ...noReader, nextBuffer: () => first },
    };
    const options = {
      ...(handle !== undefined && { handle }),
      ...{ allowHalfOpen: true, noDelay: true, writableHighWaterMark: writeAheadBytes },
      onread: {
        buffer: () => bufferOf(held.reader, held.socket),
        callback: takeRead,
      },
    };
    super(options);
    this.#held = held;
    held.socket = this;
    held.reader = new Unasked(this);
    reportEvents(this);
  }

  get reader(): SocketReader {
    return this.#held.reader;
  }

  set reader(reader: SocketReader) {
    this.#held.reader = reader;
  }

  readOn(): void {
    this.resume();
  }

  /** Node itself calls this, too. */
  override resume(): this {
    return wantsMore(this) ? super.resume() : this;
  }

  reset(): void {
    resetSocket(this);
  }

  unread(bytes: Buffer): this {
    this.pause().unshift(bytes);
    return this;
  }

  /** Node destroys a socket whose write failed; bytes that the other side sent before its close would be lost. */
  override destroy(error?: Error): this {
    if (isWriteError(error) && !this.#inputEnded && wantsRest(this)) return this;
    if (!isReadError(error) || this.#mayEnd()) return super.destroy(error);
    this.#readError = error;
    return this;
  }

  get isEndChecked(): boolean {
    return this.#isEndChecked;
  }

  /** Node calls it at the end of the input alone. It reports no end behind a failed write, which may have been a reset. */
  override push(end: unknown): boolean {
    return this.#mayEnd() && this.#end(end);
  }

  endNow(): void {
    this.#isWaiting = false;
    if (this.#readError) return void super.destroy(this.#readError);
    this.#end(null);
    this.read(0); // makes Node report the end
  }

  /** If not, `endNow` follows. */
  #mayEnd(): boolean {
    if (!this.#isWaiting) this.#isWaiting = !endTurns.mayEnd(this);
    return !this.#isWaiting;
  }

  #end(end: unknown): boolean {
    if (!this.#isEndChecked) {
      this.#isEndChecked = readsAgain(this);
      if (this.#isEndChecked) return false;
    }
    this.#inputEnded = true;
    const takesMore = super.push(end);
    if (this.errored) super.destroy(this.errored);
    return takesMore;
  }
}

const isWriteError = (error: Error | undefined) => syscallOf(error) === "write";
/** The other side has reset the connection. */
const isReadError = (error: Error | undefined) => syscallOf(error) === "read";
const syscallOf = (error: Error | undefined) => error && "syscall" in error && error.syscall;

/**
 * Calls the current reader for the events of the socket. Node calls all listeners, and the callback of `onread`, with the
 * socket as `this`: closures per socket would be a large part of the memory of a held request.
 */
export function reportEvents(socket: WireSocket): void {
  countSocket(1);
  socket.on("end", notifyEnd).on("drain", notifyDrain).on("error", ignoreError).on("close", notifyClose);
}

/** reported once, by the "close" that follows */
function ignoreError(): void {}

function notifyClose(this: WireSocket, hadError: boolean): void {
  countSocket(-1);
  notifyClosed(this, hadError);
}
