/** Bytes that wait, in one buffer: a client chooses how many frames it sends them in, and each would cost an object. */
export class GatheredBytes {
  #bytes: Buffer | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The memory that is reserved for them. */
  get capacity(): number {
    return this.#bytes?.length ?? 0;
  }

  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    const before = this.#bytes;
    if (before === undefined || length > before.length) {
      // Not from Node's pool, where one byte would hold 64 KiB. The first buffer has the exact size: most bodies come at once.
      const grown = Buffer.allocUnsafeSlow(before ? Math.max(length, 2 * before.length) : length);
      before?.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    this.#bytes?.set(bytes, this.#length);
    this.#length = length;
  }

  /** Returns all bytes and keeps none. */
  take(): Buffer | undefined {
    const bytes = this.#bytes?.subarray(0, this.#length);
    this.#bytes = undefined;
    this.#length = 0;
    return bytes;
  }
}
