import { effectiveAutoResume } from "../../api/rules/defaults.ts";
import { type ConnectRequest, commit, holdForMs } from "../connect/connect-request.ts";
import type { Upstream } from "../connect/connector.ts";
import type { DialError } from "../connect/dial.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import { isNavigation, waitPageAfterMs } from "../failures/wait-page.ts";
import { ClientGone, type RequestHead } from "../request.ts";
import type { Expiring } from "./hold-deadlines.ts";
import type { ReleasedRequest } from "./paced-release.ts";

/** The shared progress of the requests in one hold. */
export interface HoldProgress {
  /** What the requests wait for, in words for the client. */
  readonly waitingFor: string;
  /** The error of the last attempt, if it failed. */
  readonly stuck: ActivatorError | undefined;
  left(waiter: HeldRequest): void;
}

/** One held request. Tens of thousands may exist, so shared state is in their hold. */
export class HeldRequest implements Expiring, ReleasedRequest {
  readonly connectRequest: ConnectRequest;
  /** Monotonic milliseconds at the start of the wait. */
  readonly sinceMs: number;
  readonly reached: Promise<Upstream>;
  readonly #progress: HoldProgress;
  readonly #slot: Disposable;
  readonly #held: Disposable;
  readonly #seesPage: boolean;
  #resolve: (upstream: Upstream) => void = () => {};
  #reject: (reason: Error) => void = () => {};

  /** Its slot and its record end with the wait. */
  constructor(connectRequest: ConnectRequest, progress: HoldProgress, slot: Disposable, held: Disposable) {
    this.connectRequest = connectRequest;
    this.#progress = progress;
    this.#slot = slot;
    this.#held = held;
    this.reached = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { to, client, deps } = connectRequest;
    const { cluster, clock, holdDeadlines } = deps;
    this.sinceMs = clock.ticksMs();
    const limitMs = holdForMs(connectRequest);
    const { waitPage } = effectiveAutoResume(cluster.sandbox(to.namespace, to.name)?.spec ?? {});
    const mayBePage = waitPage === "Browser" && limitMs > waitPageAfterMs;
    this.#seesPage = mayBePage && client.head !== undefined && isNavigation(client.head);
    holdDeadlines.begin(this, (this.#seesPage ? waitPageAfterMs : limitMs) - (this.sinceMs - client.seenMs));
    client.onLeave(() => this.end(new ClientGone("the client left")));
  }

  get head(): RequestHead | undefined {
    return this.connectRequest.client.head;
  }

  dialFailed(error: DialError): void {
    this.connectRequest.observer.dialFailed(error);
  }

  /** Marks the use as sent, if that Pod may still be sent to. */
  take(upstream: Upstream): boolean {
    if (!commit(upstream, this.connectRequest)) return false;
    this.#over();
    this.#resolve(upstream);
    return true;
  }

  end(reason: ActivatorError | ClientGone): void {
    this.#over();
    this.#reject(reason);
  }

  timedOut(): void {
    const { stuck } = this.#progress;
    if (stuck) return this.end(stuck);
    const { namespace, name: subject } = this.connectRequest.to;
    const { cluster, waker } = this.connectRequest.deps;
    if (this.#seesPage) {
      const sandbox = cluster.sandbox(namespace, subject);
      if (sandbox) waker.comesBack(sandbox.metadata.uid); // the page reloads itself
      return this.end(new ActivatorError("Waking", { subject }));
    }
    this.end(new ActivatorError("WakeTimedOut", { subject, because: `waiting for ${this.#progress.waitingFor}` }));
  }

  #over(): void {
    this.connectRequest.client.onLeave(undefined);
    this.connectRequest.deps.holdDeadlines.over(this);
    this.#held[Symbol.dispose]();
    this.#slot[Symbol.dispose]();
    this.#progress.left(this);
  }
}
