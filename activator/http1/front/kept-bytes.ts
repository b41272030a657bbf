import type { Kept, ReadPlace } from "../../socket/read-place.ts";

/**
 * Bytes of a body that wait for a sink. Small pieces are gathered in one buffer and large ones stay where they were read, so
 * memory stays close to the number of bytes.
 */
export class KeptBytes {
  readonly #max: number;
  readonly #pieces: Kept[] = [];
  /** The bytes gathered since the last piece that stayed in place. */
  #gathered: Buffer | undefined;
  #gatheredLength = 0;

  /** `max`: the maximum bytes gathered at once, except for the last read. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Keeps a part of the last read of `place`. */
  add(place: ReadPlace, bytes: Buffer, from: number, to: number): void {
    const kept = place.keepInPlace(bytes, from, to);
    if (!kept) return this.#gather(bytes, from, to);
    this.#seal();
    this.#pieces.push(kept);
  }

  /** Returns all bytes in order and drops them here. */
  takeAll(): Kept[] {
    this.#seal();
    return this.#pieces.splice(0);
  }

  #gather(bytes: Buffer, from: number, to: number): void {
    const length = this.#gatheredLength + to - from;
    const before = this.#gathered;
    if (before === undefined || length > before.length) {
      // Not from Node's pool, where one byte would hold 64 KiB. The first buffer has the exact size: most bodies come in one read.
      const grown = Buffer.allocUnsafeSlow(before ? Math.max(length, Math.min(2 * before.length, this.#max)) : length);
      before?.copy(grown, 0, 0, this.#gatheredLength);
      this.#gathered = grown;
    }
    this.#gathered?.set(bytes.subarray(from, to), this.#gatheredLength);
    this.#gatheredLength = length;
  }

  #seal(): void {
    if (this.#gathered) {
      this.#pieces.push({ bytes: this.#gathered.subarray(0, this.#gatheredLength), write: undefined });
    }
    this.#gathered = undefined;
    this.#gatheredLength = 0;
  }
}
