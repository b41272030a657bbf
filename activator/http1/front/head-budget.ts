import type { SectionKeeper } from "../parse/section-reader.ts";

/** A connection with an unfinished head, or with unfinished trailers. */
export interface UnfinishedHead {
  /** The namespace of the sandbox that sends it; `unknownOwner` for a client. */
  readonly owner: string;
  /** Ends the request: the owner has most, its unfinished head is the owner's oldest, and memory is short. */
  shed(): void;
}

/** The owner of all heads of requests: who a client is shows in the finished head. */
export const unknownOwner = "";

/** The maximum memory for unfinished heads of all connections, in bytes: 1,000 of the largest by default. */
export const unfinishedHeadBytesMax = 67_108_864;

/** The approximate memory of a parser beside the bytes that it keeps, in bytes. */
const parserBytes = 4_096;

/** The unfinished heads of one owner. */
interface Owned {
  /** The memory of each head, oldest first. */
  readonly heads: Map<UnfinishedHead, number>;
  bytes: number;
}

/**
 * Limits the memory of unfinished heads and trailers of requests and of responses. Trailers count as heads here. Beyond the limit the owner that has most loses the oldest
 * head. A head finishes within milliseconds unless its sender delays it.
 */
export class HeadBudget {
  readonly #bytesMax: number;
  readonly #onShed: (head: UnfinishedHead) => void;
  readonly #owners = new Map<string, Owned>();
  #bytes = 0;

  constructor(bytesMax: number = unfinishedHeadBytesMax, onShed: (head: UnfinishedHead) => void = () => {}) {
    this.#bytesMax = bytesMax;
    this.#onShed = onShed;
  }

  /** The memory of all unfinished heads, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets the memory of an unfinished head. Others, perhaps this one too, are shed until the rest fits. */
  keep(head: UnfinishedHead, keptBytes: number): void {
    const owned = this.#owned(head.owner);
    const more = keptBytes + parserBytes - (owned.heads.get(head) ?? 0);
    owned.heads.set(head, keptBytes + parserBytes);
    owned.bytes += more;
    this.#bytes += more;
    while (this.#bytes > this.#bytesMax) {
      const oldest = this.#oldestOfMost();
      if (!oldest) return;
      this.release(oldest);
      this.#onShed(oldest);
      oldest.shed();
    }
  }

  release(head: UnfinishedHead): void {
    const owned = this.#owners.get(head.owner);
    const bytes = owned?.heads.get(head);
    if (owned === undefined || bytes === undefined) return;
    owned.heads.delete(head);
    owned.bytes -= bytes;
    this.#bytes -= bytes;
    if (owned.heads.size === 0) this.#owners.delete(head.owner);
  }

  /** What a reader of this connection needs to count its memory here. */
  shareOf(head: UnfinishedHead): SectionKeeper {
    return new BudgetShare(this, head);
  }

  #owned(owner: string): Owned {
    const known = this.#owners.get(owner);
    if (known) return known;
    const owned = { heads: new Map<UnfinishedHead, number>(), bytes: 0 };
    this.#owners.set(owner, owned);
    return owned;
  }

  #oldestOfMost(): UnfinishedHead | undefined {
    let most: Owned | undefined;
    for (const owned of this.#owners.values()) if (!most || owned.bytes > most.bytes) most = owned;
    const [oldest] = most?.heads.keys() ?? [];
    return oldest;
  }
}

/** Of one connection: it reads at most one head or one trailer section at a time. */
class BudgetShare implements SectionKeeper {
  readonly #budget: HeadBudget;
  readonly #head: UnfinishedHead;

  constructor(budget: HeadBudget, head: UnfinishedHead) {
    this.#budget = budget;
    this.#head = head;
  }

  keeps(bytes: number): void {
    this.#budget.keep(this.#head, bytes);
  }

  keepsNone(): void {
    this.#budget.release(this.#head);
  }
}
