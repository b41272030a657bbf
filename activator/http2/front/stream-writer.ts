import type { Http2Stream } from "node:http2";
import type { HeaderPair } from "../../request.ts";
import { GatheredBytes } from "../../socket/gathered-bytes.ts";
import { spareErrors } from "../../socket/node-inners.ts";
import { UnsentFields } from "../node-internals/unsent-fields.ts";
import { pairsLength } from "./field-lines.ts";

/** From this length on, in bytes, a piece goes on as it is. Shorter ones are joined: those of one turn, and while the stream is behind. */
export const joinedBytesMax = 4_096;

/**
 * How many times its own length a piece may hold. Node gives out each frame as a part of the whole read that it came in, up to
 * 64 KiB, and that read is kept as long as any part of it waits.
 */
const heldFactor = 4;

/**
 * Writes to one stream. Node makes an object of about 800 bytes for each write that waits, and limits their bytes only. So while a
 * write waits, small pieces are copied to one buffer, which becomes the next write: what waits takes memory for its bytes, not for
 * its pieces.
 */
export class StreamWriter {
  readonly #stream: Http2Stream;
  readonly #drained: () => void;
  /** Those that are sent behind everything else. */
  trailers: readonly HeaderPair[] = [];
  readonly #gathered = new GatheredBytes();
  readonly #fields: UnsentFields;
  #isFull = false;
  readonly #sent = () => this.#readyForMore();

  /** `drained`: called when more is taken again, after `takesMore` was false. It must not throw. */
  constructor(stream: Http2Stream, drained: () => void) {
    this.#stream = stream;
    this.#drained = drained;
    this.#fields = new UnsentFields(stream);
  }

  /** Whether more should be written now. */
  get takesMore(): boolean {
    return !this.#isFull;
  }

  /** Bytes that are written and not sent, with heads and trailers. */
  get queuedBytes(): number {
    return this.#stream.bufferSize + this.#gathered.length + this.#fields.bytes + pairsLength(this.trailers);
  }

  /** A head or trailers of so many bytes were given to the stream. */
  gaveFields(bytes: number): void {
    this.#fields.add(bytes);
  }

  /** The other side has answered them. */
  fieldsAnswered(): void {
    this.#fields.sent();
  }

  /** Bytes of heads and trailers that are not sent. No window keeps them back: the other side reads nothing of its connection. */
  get unsentFields(): number {
    return this.#fields.bytes;
  }

  /** Writes bytes that nothing else changes. */
  write(bytes: Buffer): void {
    const isOwner = bytes.length * heldFactor >= bytes.buffer.byteLength;
    if (isOwner && (bytes.length >= joinedBytesMax || !this.#isBehind)) {
      this.#flush();
      this.#send(bytes);
    } else this.writeCopy(bytes);
  }

  /** Writes bytes that will change later. */
  writeCopy(bytes: Uint8Array): void {
    this.#gathered.add(bytes);
    if (this.#stream.writableLength === 0) this.#flush();
    else this.#judge();
  }

  end(): void {
    this.#flush();
    this.#stream.end();
  }

  get #isBehind(): boolean {
    return this.#stream.writableLength > 0;
  }

  #flush(): void {
    const kept = this.#gathered.take();
    if (kept) this.#send(kept);
  }

  #send(bytes: Buffer): void {
    this.#stream.write(bytes, this.#sent);
    this.#judge();
  }

  #judge(): void {
    const { writableLength, writableHighWaterMark } = this.#stream;
    this.#isFull = writableLength + this.#gathered.length >= writableHighWaterMark;
  }

  /** A write has ended. */
  #readyForMore(): void {
    const stream = this.#stream;
    if (stream.destroyed) spareErrors(stream);
    if (!stream.writable) return void this.#gathered.take();
    const wasFull = this.#isFull;
    if (stream.writableLength === 0) this.#flush();
    this.#judge();
    if (wasFull && !this.#isFull) this.#drained();
  }
}
