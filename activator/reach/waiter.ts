import { effectiveAutoResume } from "../../api/defaults.ts";
import { isNavigation } from "../answer.ts";
import { ActivatorError } from "../errors.ts";
import { ClientGone, type RequestHead } from "../request.ts";
import type { Upstream } from "./connector.ts";
import type { DialError } from "./dial.ts";
import { commit, type Errand } from "./errand.ts";
import { type Held, holdLimitMs } from "./holds.ts";
import type { Taker } from "./release.ts";

/** A person who opens a page sees within a second that something happens. */
const waitPageAfterMs = 1_000;

/** What a waiter waits in. */
export interface WaitingRoom {
  /** What all in it wait for, in words for the client. */
  readonly waitingFor: string;
  left(waiter: Waiter): void;
}

/** One who waits. There may be tens of thousands: all that they have in common is in their wait. */
export class Waiter implements Held, Taker {
  readonly errand: Errand;
  /** Monotonic milliseconds when it began to wait. */
  readonly sinceMs: number;
  readonly reached: Promise<Upstream>;
  readonly #room: WaitingRoom;
  readonly #slot: Disposable;
  readonly #held: Disposable;
  readonly #seesPage: boolean;
  #resolve: (upstream: Upstream) => void = () => {};
  #reject: (reason: Error) => void = () => {};
  #isOver = false;

  /** Its place and its record end with it. */
  constructor(errand: Errand, room: WaitingRoom, slot: Disposable, held: Disposable) {
    this.errand = errand;
    this.#room = room;
    this.#slot = slot;
    this.#held = held;
    this.reached = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { to, waiting, around } = errand;
    const { cluster, clock, options, holds } = around;
    this.sinceMs = clock.ticksMs();
    const autoResume = effectiveAutoResume(cluster.sandbox(to.namespace, to.name)?.spec ?? {});
    const limitMs = holdLimitMs(autoResume.timeoutSeconds * 1000, to.timeoutMs, options.proxyTimeoutMs);
    const mayBePage = autoResume.waitPage === "Browser" && limitMs > waitPageAfterMs;
    this.#seesPage = mayBePage && waiting.head !== undefined && isNavigation(waiting.head);
    holds.begin(this, (this.#seesPage ? waitPageAfterMs : limitMs) - (this.sinceMs - waiting.seenMs));
    waiting.onLeave(() => this.end(new ClientGone("the client left")));
  }

  get head(): RequestHead | undefined {
    return this.errand.waiting.head;
  }

  dialFailed(error: DialError): void {
    this.errand.journey.dialFailed(error);
  }

  /** It counts as sent from here on, if that Pod may still be sent to. */
  take(upstream: Upstream): boolean {
    if (!commit(upstream, this.errand)) return false;
    this.#over();
    this.#resolve(upstream);
    return true;
  }

  end(reason: ActivatorError | ClientGone): void {
    if (this.#isOver) return;
    this.#over();
    this.#reject(reason);
  }

  timedOut(): void {
    const { name: subject } = this.errand.to;
    if (this.#seesPage) return this.end(new ActivatorError("Waking", { subject }));
    this.end(new ActivatorError("WakeTimedOut", { subject, because: `waiting for ${this.#room.waitingFor}` }));
  }

  #over(): void {
    this.#isOver = true;
    this.errand.waiting.onLeave(undefined);
    this.errand.around.holds.over(this);
    this.#held[Symbol.dispose]();
    this.#slot[Symbol.dispose]();
    this.#room.left(this);
  }
}
