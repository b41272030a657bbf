import { EventEmitter } from "node:events";
import {
  bufferOf,
  notifyClosed,
  notifyDrain,
  notifyEnd,
  takeRead,
  wantsMore,
  wantsRest,
} from "../../../activator/socket/doors.ts";
import {
  commonBuffer,
  type SocketReader,
  type WireSocket,
  writeAheadBytes,
} from "../../../activator/socket/wire-socket.ts";

interface Chunk {
  readonly bytes: Buffer;
  readonly done: (() => void) | undefined;
}

export type WireKind = "plain" | "tls";

/** The default high-water mark of a Writable, since Node 22. */
const tlsHighWaterMark = 65_536;

/** How a connection ended, as the other side sees it. */
export type SeenEnd = "open" | "end" | "reset";

/**
 * A socket for readers. A schedule controls its other side and its time: nothing is read, sent or reported before
 * the schedule says so. As in a real socket, written data is not copied; it is sent later, piece by piece.
 */
export class FakeWire extends EventEmitter {
  reader: SocketReader = unread;
  readonly remoteAddress = "127.0.0.1";
  readonly writableHighWaterMark: number;
  writableLength = 0;
  bytesRead = 0;
  bytesWritten = 0;
  destroyed = false;
  errored: Error | null = null;
  readableEnded = false;
  /** The data that the other side has received, and how it saw the end. */
  readonly received: Buffer[] = [];
  seenEnd: SeenEnd = "open";
  #inbound: Buffer[] = [];
  #inboundEnd: SeenEnd = "open";
  #next: Buffer = commonBuffer;
  #isReading = false;
  readonly #isSecure: boolean;
  #room = 0;
  #corks = 0;
  #queue: Chunk[] = [];
  /** The data of one call to the kernel, and how much of it was sent. */
  #flight: Chunk[] = [];
  #at = 0;
  #left = 0;
  #isTelling = false;
  #needsDrain = false;
  #isEnding = false;
  #isFinished = false;

  /** `kind`: one of our sockets, or a TLS socket of Node, which has its own high-water mark and accepts data later. */
  constructor(kind: WireKind = "plain") {
    super();
    this.#isSecure = kind === "tls";
    this.writableHighWaterMark = this.#isSecure ? tlsHighWaterMark : writeAheadBytes;
    if (this.#isSecure) Object.assign(this, { encrypted: true });
  }

  get writable(): boolean {
    return !this.destroyed && this.errored === null && !this.#isEnding;
  }

  get writableEnded(): boolean {
    return this.#isEnding;
  }

  // The program's side.

  readOn(): void {
    if (!this.destroyed && !this.readableEnded && wantsMore(asSocket(this))) this.#isReading = true;
  }

  write(data: string | Buffer, how?: BufferEncoding | (() => void), then?: () => void): boolean {
    if (!this.writable) return false;
    const done = typeof how === "function" ? how : then;
    const bytes = typeof data === "string" ? Buffer.from(data, typeof how === "string" ? how : undefined) : data;
    this.writableLength += bytes.length;
    this.bytesWritten += bytes.length;
    this.#queue.push({ bytes, done });
    const goesOn = this.writableLength < this.writableHighWaterMark;
    if (!goesOn) this.#needsDrain = true;
    this.#pump();
    return goesOn;
  }

  cork(): void {
    this.#corks += 1;
  }

  uncork(): void {
    this.#corks -= 1;
    this.#pump();
  }

  end(): void {
    if (this.#isEnding || this.destroyed) return;
    this.#isEnding = true;
    this.#finish();
  }

  destroy(): this {
    this.#close("end", false);
    return this;
  }

  reset(): void {
    this.#close("reset", false);
  }

  // The other side.

  /** Bytes arrive. */
  send(bytes: Buffer): void {
    if (this.seenEnd !== "reset" && this.#inboundEnd === "open") this.#inbound.push(bytes);
  }

  sendEnd(how: "end" | "reset"): void {
    if (this.#inboundEnd !== "reset") this.#inboundEnd = how;
  }

  /** Receives up to `count` more of the written bytes. */
  takeMore(length: number): void {
    this.#room += length;
    this.#pump();
  }

  /** Whether written data waits to be received. */
  get isPending(): boolean {
    return this.#flight.length > 0 && this.#inboundEnd !== "reset";
  }

  /** Whether an event for the program is pending. */
  get isDeliverable(): boolean {
    if (this.destroyed) return false;
    if (this.#inboundEnd === "reset" && this.writableLength > 0 && this.errored === null) return true;
    return this.#isReading && !this.readableEnded && (this.#inbound.length > 0 || this.#inboundEnd !== "open");
  }

  /** Delivers the next event to the program, with a limited number of bytes. */
  deliver(most: number): void {
    if (this.#inboundEnd === "reset" && this.writableLength > 0 && this.errored === null) return this.#failWrites();
    const first = this.#inbound[0];
    if (first) return this.#deliverBytes(first, most);
    if (this.#inboundEnd === "reset") return this.#close("reset", true);
    this.readableEnded = true;
    this.#isReading = false;
    process.nextTick(() => {
      if (this.destroyed) return;
      notifyEnd.call(asSocket(this));
      this.#closeIfOver();
    });
  }

  #deliverBytes(first: Buffer, most: number): void {
    const length = first.copy(this.#next, 0, 0, Math.min(first.length, most));
    if (length < first.length) this.#inbound[0] = first.subarray(length);
    else this.#inbound.shift();
    this.bytesRead += length;
    const goesOn = takeRead.call(asSocket(this), length, this.#next);
    this.#next = bufferOf(this.reader, asSocket(this));
    if (!goesOn) this.#isReading = false;
  }

  /** As Node does: one call for all waiting data, and the next one when all of it was sent. */
  #pump(): void {
    if (this.#corks > 0 || this.destroyed || this.#isTelling) return;
    while (this.#flight.length > 0 || this.#queue.length > 0) {
      if (this.#flight.length === 0) this.#flight = this.#depart();
      const flight = this.#flight;
      while (this.#at < flight.length && this.#leave(flight[this.#at]?.bytes ?? empty)) this.#at += 1;
      if (this.#at < flight.length) return;
      this.#at = 0;
      if (this.#isSecure) return this.#tellLater(flight);
      this.#flight = [];
      for (const { bytes } of flight) this.writableLength -= bytes.length;
      process.nextTick(() => this.#hasLeft(flight));
    }
    this.#finish();
  }

  /** TLS copies the data when it encrypts it. */
  #depart(): Chunk[] {
    const chunks = this.#queue.splice(0);
    return this.#isSecure ? chunks.map(({ bytes, done }) => ({ bytes: Buffer.from(bytes), done })) : chunks;
  }

  /** TLS never reports at once that all data was sent. */
  #tellLater(flight: Chunk[]): void {
    this.#isTelling = true;
    process.nextTick(() => {
      this.#isTelling = false;
      if (this.#flight !== flight) return;
      this.#flight = [];
      for (const { bytes } of flight) this.writableLength -= bytes.length;
      this.#hasLeft(flight);
      this.#pump();
    });
  }

  /** Node emits "drain" first, and then calls back for the written data. */
  #hasLeft(flight: readonly Chunk[]): void {
    if (this.#needsDrain && this.writableLength === 0 && !this.destroyed && !this.#isEnding) {
      this.#needsDrain = false;
      notifyDrain.call(asSocket(this));
    }
    for (const { done } of flight) done?.();
  }

  /** Whether all data was sent. */
  #leave(bytes: Buffer): boolean {
    const length = Math.min(this.#room, bytes.length - this.#left);
    if (length > 0) this.received.push(Buffer.from(bytes.subarray(this.#left, this.#left + length)));
    this.#room -= length;
    this.#left += length;
    if (this.#left < bytes.length) return false;
    this.#left = 0;
    return true;
  }

  #finish(): void {
    if (!this.#isEnding || this.writableLength > 0 || this.#isFinished) return;
    this.#isFinished = true;
    if (this.seenEnd === "open") this.seenEnd = "end";
    process.nextTick(() => this.#closeIfOver());
  }

  #closeIfOver(): void {
    if (this.#isFinished && this.readableEnded) this.#close("end", false);
  }

  #failWrites(): void {
    this.errored = new Error("write ECONNRESET");
    this.#dropWrites();
    this.writableLength = 0;
    if (!wantsRest(asSocket(this))) this.#close("reset", true);
  }

  /** Node also calls back for data that was never sent. */
  #dropWrites(): void {
    for (const { done } of [...this.#flight, ...this.#queue]) if (done) process.nextTick(done);
    this.#flight = [];
    this.#at = 0;
    this.#queue = [];
  }

  #close(how: "end" | "reset", hadError: boolean): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#isReading = false;
    // A kernel that discards received data sends a reset.
    if (this.seenEnd === "open") this.seenEnd = this.#inbound.length > 0 ? "reset" : how;
    if (how === "reset") this.seenEnd = "reset";
    this.#inbound = [];
    this.#dropWrites();
    process.nextTick(() => notifyClosed(asSocket(this), hadError));
  }
}

/** The class has all members of a socket that readers use. */
export const asSocket = (wire: FakeWire): WireSocket => wire as unknown as WireSocket;

const empty = Buffer.alloc(0);

const unread: SocketReader = {
  wantsMore: false,
  nextBuffer: () => commonBuffer,
  take() {},
  ended() {},
  drained() {},
  writeFailed: () => false,
  closed() {},
};
