import { ByAddress, type PodAddress } from "./place.ts";

/**
 * How long a lost address of a Pod is remembered, in milliseconds. A connection that was being dialled when the Pod went may be
 * added a moment later; no dial takes longer.
 */
const keptMs = 30_000;

interface Lost {
  readonly address: PodAddress;
  /** In ticks. */
  readonly untilMs: number;
}

/** The addresses that Pods have lost in the last seconds. */
export class LostAddresses {
  readonly #lost = new ByAddress<Lost>();
  /** The same, the oldest first. */
  readonly #inOrder = new Set<Lost>();

  get size(): number {
    return this.#inOrder.size;
  }

  has(address: PodAddress): boolean {
    return this.#inOrder.size > 0 && this.#lost.get(address) !== undefined;
  }

  add(address: PodAddress, nowMs: number): void {
    const known = this.#lost.get(address);
    if (known) this.#inOrder.delete(known);
    const lost = { address, untilMs: nowMs + keptMs };
    this.#lost.set(address, lost);
    this.#inOrder.add(lost);
  }

  forgetOld(nowMs: number): void {
    for (const lost of this.#inOrder) {
      if (nowMs < lost.untilMs) return;
      this.#forget(lost);
    }
  }

  forgetThose(isBack: (address: PodAddress) => boolean): void {
    for (const lost of this.#inOrder) if (isBack(lost.address)) this.#forget(lost);
  }

  #forget(lost: Lost): void {
    this.#inOrder.delete(lost);
    this.#lost.delete(lost.address);
  }
}
