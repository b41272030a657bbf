/** A connection with an unfinished head. */
export interface UnfinishedHead {
  /** Closes the connection: its unfinished head is the oldest, and memory is short. */
  shed(): void;
}

/** The maximum memory for unfinished heads of all connections, in bytes: 1,000 of the largest by default. */
export const unfinishedHeadBytesMax = 67_108_864;

/** The approximate memory of a parser beside the bytes that it keeps, in bytes. */
const parserBytes = 4_096;

/**
 * Limits the memory of unfinished heads over all connections. Clients are unknown before the head is finished, so there are no
 * shares: beyond the limit the oldest head is shed. A head finishes within milliseconds unless its client delays it.
 */
export class HeadBudget {
  readonly #bytesMax: number;
  readonly #onShed: () => void;
  /** The memory of each head, oldest first. */
  readonly #heads = new Map<UnfinishedHead, number>();
  #bytes = 0;

  constructor(bytesMax: number = unfinishedHeadBytesMax, onShed: () => void = () => {}) {
    this.#bytesMax = bytesMax;
    this.#onShed = onShed;
  }

  /** The memory of all unfinished heads, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets the memory of an unfinished head. The oldest heads, perhaps this one, are shed until the rest fits. */
  keep(head: UnfinishedHead, keptBytes: number): void {
    const bytes = keptBytes + parserBytes;
    this.#bytes += bytes - (this.#heads.get(head) ?? 0);
    this.#heads.set(head, bytes);
    while (this.#bytes > this.#bytesMax) {
      const [oldest] = this.#heads.keys();
      if (!oldest) return;
      this.release(oldest);
      this.#onShed();
      oldest.shed();
    }
  }

  release(head: UnfinishedHead): void {
    this.#bytes -= this.#heads.get(head) ?? 0;
    this.#heads.delete(head);
  }
}
