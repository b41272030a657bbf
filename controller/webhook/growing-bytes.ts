const bytesAtFirst = 16 * 1024;
// A little more than what is needed: what is reserved and not used counts in no budget.
const growth = 1.25;

/** Bytes in one buffer of their own. Many small pieces cost no more than one large one. */
export class GrowingBytes {
  #buffer = new ArrayBuffer(bytesAtFirst);
  #bytes = 0;

  add(piece: Uint8Array): void {
    const needed = this.#bytes + piece.length;
    if (needed > this.#buffer.byteLength)
      this.#buffer = this.#buffer.transfer(Math.max(needed, Math.ceil(this.#bytes * growth)));
    new Uint8Array(this.#buffer).set(piece, this.#bytes);
    this.#bytes = needed;
  }

  /** Gives the memory back now, not at the next collection. No view may be in use. */
  free(): void {
    this.#buffer = this.#buffer.transfer(0);
    this.#bytes = 0;
  }

  /** All that was added; it shares the memory, so nothing may be added while it is in use. */
  view(): Buffer {
    return Buffer.from(this.#buffer, 0, this.#bytes);
  }
}
