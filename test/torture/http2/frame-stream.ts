import { Duplex } from "node:stream";
import type { Fields } from "./hpack.ts";

/** What a stream needs of its connection. */
export interface StreamOwner {
  /** The largest number of bytes of its data that may be sent now in one frame. */
  room(stream: FrameStream): number;
  sendData(stream: FrameStream, bytes: Buffer, isLast: boolean, done: () => void): void;
  sendFields(stream: FrameStream, fields: Fields, isLast: boolean): void;
  sendReset(stream: FrameStream, code: number): void;
  /** Gives the other side so much more of the windows. */
  consumed(stream: FrameStream, bytes: number): void;
  closed(stream: FrameStream): void;
}

export const cancelCode = 8;

interface Waiting {
  readonly bytes: Buffer;
  readonly done: () => void;
}

/** One stream of HTTP/2. What is not read holds the window of the stream. */
export class FrameStream extends Duplex {
  readonly id: number;
  /** How much may be sent. */
  sendWindow = 0;
  /** How much the other side may send. */
  receiveWindow = 0;
  /** Interim heads are not reported. */
  onHead: (fields: Fields, isLast: boolean) => void = () => {};
  onTrailers: (fields: Fields) => void = () => {};
  /** The code of the reset of the other side. */
  resetCode: number | undefined;
  /** The number of sent bytes after which the frame of data ends the stream. Absent: another frame ends it. */
  endsAt: number | undefined;
  /** These end it, instead of a frame of data. */
  trailers: Fields | undefined;
  /** The other side has ended its part. */
  hasEnd = false;
  /** Its own part was ended by a frame. */
  #isSent = false;
  #isClosed = false;
  #code = cancelCode;
  #hasHead = false;
  #sentBytes = 0;
  #unread = 0;
  #waiting: Waiting | undefined;
  readonly #owner: StreamOwner;

  constructor(id: number, owner: StreamOwner) {
    super({ allowHalfOpen: true, readableHighWaterMark: 1, writableHighWaterMark: 16_384, emitClose: true });
    this.id = id;
    this.#owner = owner;
    this.on("error", () => {});
  }

  /** Resets the stream. */
  cut(code: number = cancelCode): void {
    this.#code = code;
    this.destroy();
  }

  /** The head of a request or a response. */
  sendHead(fields: Fields, isLast = false): void {
    this.#isSent = isLast;
    this.#owner.sendFields(this, fields, isLast);
    if (isLast) this.end();
  }

  /** Sends what the windows permit. */
  pump(): void {
    const waiting = this.#waiting;
    if (!waiting || this.destroyed) return;
    const room = this.#owner.room(this);
    if (room <= 0) return;
    const { bytes, done } = waiting;
    const part = bytes.subarray(0, room);
    const isWhole = part.length === bytes.length;
    this.#waiting = isWhole ? undefined : { bytes: bytes.subarray(room), done };
    this.#sentBytes += part.length;
    const isLast = this.#sentBytes === this.endsAt;
    if (isLast) this.#isSent = true;
    this.#owner.sendData(this, part, isLast, isWhole ? done : () => this.pump());
  }

  // What the other side sends.

  tookFields(fields: Fields, isLast: boolean): void {
    const isInterim = !this.#hasHead && fields.some(([name, value]) => name === ":status" && value.startsWith("1"));
    if (!isInterim) {
      if (this.#hasHead) this.onTrailers(fields);
      else this.onHead(fields, isLast);
      this.#hasHead = true;
    }
    if (isLast) this.tookEnd();
  }

  tookData(bytes: Buffer, paddingBytes: number): void {
    this.#unread += bytes.length + paddingBytes;
    if (bytes.length > 0) this.push(bytes);
    else this._read();
  }

  tookEnd(): void {
    this.hasEnd = true;
    this.push(null);
  }

  /** After its end, the other side only wants no more. */
  tookReset(code: number): void {
    this.resetCode = code;
    this.#isClosed = true;
    if (!this.hasEnd || code !== 0) return void this.destroy();
    this.#waiting?.done();
    this.#waiting = undefined;
    this.end();
  }

  /** The connection is closed. */
  lost(): void {
    this.#isClosed = true;
    this.destroy();
  }

  override _read(): void {
    const bytes = this.#unread;
    this.#unread = 0;
    if (bytes > 0) this.#owner.consumed(this, bytes);
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    if (this.#isClosed || this.#isSent) return done();
    this.#waiting = { bytes, done };
    this.pump();
  }

  override _final(done: () => void): void {
    if (!this.#isSent && !this.#isClosed) {
      this.#isSent = true;
      if (this.trailers) this.#owner.sendFields(this, this.trailers, true);
      else this.#owner.sendData(this, Buffer.alloc(0), true, () => {});
    }
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#waiting = undefined;
    const isOver = this.#isClosed || (this.#isSent && this.hasEnd);
    if (!isOver) this.#owner.sendReset(this, this.#code);
    this._read(); // the connection's window has these bytes too
    this.#owner.closed(this);
    done(error);
  }
}
