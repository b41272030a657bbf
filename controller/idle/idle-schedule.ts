import { DeadlineHeap } from "../../lib/time/deadline-heap.ts";
import type { Idleness } from "./decide-idle.ts";

/** Asks about each sandbox when its time has come, and about none before: a sandbox at rest costs nothing. */
export class IdleSchedule {
  readonly #heap = new DeadlineHeap();
  readonly #idlenessOf: (key: string) => Idleness | undefined;

  /** `idlenessOf` is undefined for a sandbox that is no more. */
  constructor(idlenessOf: (key: string) => Idleness | undefined) {
    this.#idlenessOf = idlenessOf;
  }

  /** When to sweep next, in monotonic milliseconds; undefined: not before a check is requested. */
  get nextMs(): number | undefined {
    return this.#heap.nextMs;
  }

  /** The sandbox has changed: the next sweep from then on checks it. */
  checkAt(key: string, fromMs: number): void {
    this.#heap.set(key, fromMs);
  }

  /** The deadlines were computed by a clock that has jumped: the next sweep checks all that have one. */
  lookAtAll(fromMs: number): void {
    for (const key of this.#heap.keys()) this.#heap.set(key, fromMs);
  }

  /**
   * The sandboxes that are idle now, at most `idleMax` of them, of those that it can check until `isOver`; the rest stay due. The returned ones
   * are not checked again before `checkAt` is called for them.
   */
  sweep(nowMs: number, idleMax: number, isOver: () => boolean): readonly string[] {
    const idle: string[] = [];
    while (idle.length < idleMax) {
      const key = this.#heap.takeDue(nowMs);
      if (key === undefined) break;
      const idleness = this.#idlenessOf(key);
      if (idleness?.is === "idle") idle.push(key);
      if (idleness?.is === "awake") this.#heap.set(key, idleness.recheckAtMs);
      if (isOver()) break;
    }
    return idle;
  }
}
