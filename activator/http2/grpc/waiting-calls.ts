import { IdleList, Link } from "../../pod-connections/idle-list.ts";

interface WaitingCall {
  readonly listener: () => void;
  /** Monotonic milliseconds. */
  readonly untilMs: number;
}

/** Calls that wait for the same, each for the same time, in the order in which they came. */
export class WaitingCalls {
  readonly #calls = new IdleList<WaitingCall>();

  get size(): number {
    return this.#calls.size;
  }

  /** Disposing ends the wait. */
  add(call: WaitingCall): Disposable {
    const link = new Link(call);
    this.#calls.join(link);
    return { [Symbol.dispose]: () => link.leave() };
  }

  /** The first one, which waits no longer. Undefined: there is none, or none whose time is over. */
  take(nowMs = Number.POSITIVE_INFINITY): (() => void) | undefined {
    const { oldest } = this.#calls;
    if (!oldest || oldest.value.untilMs > nowMs) return undefined;
    oldest.leave();
    return oldest.value.listener;
  }
}
