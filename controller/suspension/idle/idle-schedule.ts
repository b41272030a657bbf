import { DeadlineHeap } from "../../../lib/time/deadline-heap.ts";
import type { Idleness } from "./decide-idle.ts";

/** Asks about each sandbox when its time has come, and about none before: a sandbox at rest costs nothing. */
export class IdleSchedule {
  readonly #heap = new DeadlineHeap();
  readonly #idlenessOf: (key: string) => Idleness | undefined;

  /** `idlenessOf` is undefined for a sandbox that is no more. */
  constructor(idlenessOf: (key: string) => Idleness | undefined) {
    this.#idlenessOf = idlenessOf;
  }

  /** When to sweep next, in monotonic milliseconds; undefined: not before something is to be looked at. */
  get nextMs(): number | undefined {
    return this.#heap.nextMs;
  }

  /** Something has changed: it is looked at in the next sweep from then on. */
  checkAt(key: string, fromMs: number): void {
    this.#heap.set(key, fromMs);
  }

  /** The deadlines were reckoned by a clock that has jumped: all that have one are looked at in the next sweep. */
  lookAtAll(fromMs: number): void {
    for (const key of this.#heap.keys()) this.#heap.set(key, fromMs);
  }

  /**
   * The sandboxes that are idle now, at most `idleMax` of them; the rest stay due. Those that are returned are not looked
   * at again before `lookAt` says so.
   */
  sweep(nowMs: number, idleMax: number): readonly string[] {
    const idle: string[] = [];
    while (idle.length < idleMax) {
      const key = this.#heap.takeDue(nowMs);
      if (key === undefined) break;
      const idleness = this.#idlenessOf(key);
      if (idleness?.is === "idle") idle.push(key);
      if (idleness?.is === "awake") this.#heap.set(key, idleness.recheckAtMs);
    }
    return idle;
  }
}
