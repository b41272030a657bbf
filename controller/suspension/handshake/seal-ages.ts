import type { Seal } from "../../../api/rules/suspension.ts";

interface SeenSeal {
  /** The time in the seal's annotation. */
  readonly podUid: string;
  readonly at: string;
  readonly agoMs: number;
  readonly atMs: number;
}

const sealsMax = 10_000;

/**
 * For how long Pods have been sealed. The time in a seal is used once, when this process first sees it; from then
 * on monotonic time is added, so that a jump of the clock neither cuts a drain short nor prolongs it. One seal of each sandbox
 * is remembered, until `forget`.
 */
export class SealAges {
  /** By the sandbox's UID; the one that was asked for longest ago first. */
  readonly #seals = new Map<string, SeenSeal>();

  /** Milliseconds since the seal. */
  ageMs(sandboxUid: string, { podUid, at }: Seal, now: Date, nowMs: number): number {
    const known = this.#seals.get(sandboxUid);
    const agoMs = Math.max(now.getTime() - new Date(at).getTime(), 0);
    const seen = known?.at === at && known.podUid === podUid ? known : { podUid, at, agoMs, atMs: nowMs };
    this.#seals.delete(sandboxUid);
    this.#seals.set(sandboxUid, seen);
    // The time of an evicted seal is used once more.
    const [oldest] = this.#seals.keys();
    if (this.#seals.size > sealsMax && oldest !== undefined) this.#seals.delete(oldest);
    return seen.agoMs + nowMs - seen.atMs;
  }

  /** The sandbox is gone, or has no valid seal any more. */
  forget(sandboxUid: string): void {
    this.#seals.delete(sandboxUid);
  }

  /** Number of seals in memory. */
  get size(): number {
    return this.#seals.size;
  }
}
