import type { Seal } from "../../../api/rules/suspension.ts";

interface SeenSeal {
  /** The time in the seal's annotation: it tells seals of the same Pod apart. */
  readonly podUid: string;
  readonly at: string;
  readonly atMs: number;
}

/**
 * For how long this process has seen Pods sealed, in monotonic time. The time in a seal is of the clock of the leader that wrote
 * it: by a clock that is ahead, a drain would end at once and cut what is in flight. So a new leader prolongs a drain, by its
 * own time limit at most (decision 0040). One seal of each sandbox is remembered, until `forget`.
 */
export class SealAges {
  /** By the sandbox's UID. */
  readonly #seals = new Map<string, SeenSeal>();

  /** Milliseconds since this seal was first seen. */
  ageMs(sandboxUid: string, { podUid, at }: Seal, nowMs: number): number {
    const known = this.#seals.get(sandboxUid);
    const seen = known?.at === at && known.podUid === podUid ? known : { podUid, at, atMs: nowMs };
    this.#seals.set(sandboxUid, seen);
    return nowMs - seen.atMs;
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
