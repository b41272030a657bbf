import type { Kept, ReadPlace } from "../../socket/read-place.ts";
import { smallBuffer } from "../../socket/wire-socket.ts";

/** The maximum bytes of a body or of later requests that are read ahead: enough to notice that a client leaves. */
export const readAheadBytesMax = 16_384;

/** Bytes of a connection that were read behind the current request. */
export class ReadAhead {
  readonly #place: ReadPlace;
  #kept: Kept | undefined;
  #at = 0;

  constructor(place: ReadPlace) {
    this.#place = place;
  }

  get isEmpty(): boolean {
    return this.#kept === undefined;
  }

  get length(): number {
    return this.#kept === undefined ? 0 : this.#kept.bytes.length - this.#at;
  }

  /** The next bytes; `undefined` if there are none. */
  get bytes(): Buffer | undefined {
    return this.#kept?.bytes;
  }

  /** The offset in `bytes` where they begin. */
  get at(): number {
    return this.#at;
  }

  /** The read buffer while `waiting` bytes of a body are kept as well, so that no more is read than may be kept. */
  room(waiting: number): Buffer {
    const kept = this.length + waiting;
    return kept === 0 || kept >= readAheadBytesMax ? smallBuffer : smallBuffer.subarray(0, readAheadBytesMax - kept);
  }

  /** Keeps `bytes` from `from` to `to` for later. They may be bytes that were read ahead before. */
  keep(bytes: Buffer, from: number, to: number): void {
    if (from >= to) {
      if (bytes === this.#kept?.bytes) this.clear();
      return;
    }
    if (bytes === this.#kept?.bytes) {
      this.#at = from;
      return;
    }
    const before = this.#kept?.bytes.subarray(this.#at);
    const joined = before && Buffer.concat([before, bytes.subarray(from, to)]);
    this.clear();
    this.#kept = joined ? { bytes: joined, write: undefined } : this.#place.keep(bytes, from, to);
  }

  clear(): void {
    if (this.#kept) this.#place.unkeep(this.#kept);
    this.#kept = undefined;
    this.#at = 0;
  }
}
