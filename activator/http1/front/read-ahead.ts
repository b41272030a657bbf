import { joined, type Kept, ownCopy, type ReadPlace } from "../../socket/read-place.ts";

/** The maximum bytes of a body or of later requests that are read ahead: enough to notice that a client leaves. */
export const readAheadBytesMax = 16_384;
/** With less room in bytes nothing of a body is read ahead: a small read costs as much as a large one. */
const readAheadBytesMin = 4_096;

/** Whether so many kept bytes of a body leave room to read on. */
export const leavesRoom = (keptBytes: number): boolean => keptBytes <= readAheadBytesMax - readAheadBytesMin;

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

  /**
   * The maximum bytes of the next read while `waiting` bytes of a body are kept as well. Undefined if that is no limit: nothing
   * is kept, or so much that nothing is read before all of it is used.
   */
  room(waiting: number): number | undefined {
    const kept = this.length + waiting;
    return kept === 0 || kept >= readAheadBytesMax ? undefined : readAheadBytesMax - kept;
  }

  /** Keeps `bytes` from `from` to `to` for later. They may be bytes that were read ahead before. Returns how many are kept in all. */
  keep(bytes: Buffer, from: number, to: number): number {
    this.#keep(bytes, from, to);
    return this.length;
  }

  #keep(bytes: Buffer, from: number, to: number): void {
    if (from >= to) {
      if (bytes === this.#kept?.bytes) this.clear();
      return;
    }
    if (bytes === this.#kept?.bytes) {
      this.#at = from;
      return;
    }
    const before = this.#kept?.bytes.subarray(this.#at);
    const both = before && joined(before, bytes.subarray(from, to));
    this.clear();
    this.#kept = both ? { bytes: both, write: undefined } : this.#place.keep(bytes, from, to);
  }

  /** A small copy of the bytes, for a tunnel that may read over them. They are dropped here. */
  handOver(): Buffer | undefined {
    const ahead = this.#kept && ownCopy(this.#kept.bytes.subarray(this.#at));
    this.clear();
    return ahead;
  }

  clear(): void {
    if (this.#kept) this.#place.unkeep(this.#kept);
    this.#kept = undefined;
    this.#at = 0;
  }
}
