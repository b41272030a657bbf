import { autoResumeDefaults } from "../../api/rules/defaults.ts";
import type { ConnectDeps, ConnectObserver } from "../connect/connect-request.ts";
import { heldSlots } from "../connect/held-slots.ts";
import { holdTimeoutMs } from "../connect/hold-timeout.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import { FirstLists, storedName } from "../find/first-lists.ts";
import type { Domains } from "../find/host-name.ts";
import { statedTimeoutMs } from "../find/routing-headers.ts";
import type { StoredName } from "../find/sandbox-of.ts";
import { ClientGone, type Incoming } from "../request.ts";
import { ChangeSignal } from "../sandbox/change-signal.ts";
import type { Claims } from "../sandbox/claims.ts";
import { longestSilenceMs } from "../sandbox/cluster.ts";

export interface FirstViewDeps extends Pick<ConnectDeps, "clock" | "holdLimits" | "holdDeadlines"> {
  readonly cluster: Pick<ConnectDeps["cluster"], "synced" | "firstSeen" | "silentMs" | "sandbox" | "listen">;
  readonly claims: Pick<Claims, "settled" | "firstSettled">;
  readonly domains: Domains;
  /** The upper limit of every hold, whatever the client allows. Milliseconds. */
  readonly proxyTimeoutMs: number;
}

type WaitingRequest = Pick<Incoming, "head" | "seenMs" | "left" | "onLeave">;
type SpeltName = Pick<Routed, "namespace" | "name">;

interface HeldBy {
  readonly spelt: SpeltName;
  readonly observer: Pick<ConnectObserver, "held">;
}

/**
 * Holds requests before the first lists. The settings of each sandbox decide how long its requests are held, which of them wake it
 * and who may reach it; the port of a Service name is its sandbox's, and a name under the domain may be a claim's. A guess would reject
 * requests that could be proxied a moment later.
 */
export class FirstView {
  readonly #deps: FirstViewDeps;
  readonly #lists: FirstLists;

  constructor(deps: FirstViewDeps) {
    this.#deps = deps;
    this.#lists = new FirstLists(deps);
  }

  /** Whether a request with this host may have to wait for the first lists of sandboxes, Pods and claims. */
  mayBeMissing(host: string): boolean {
    const { cluster, claims, domains } = this.#deps;
    return !cluster.synced || (!claims.settled && storedName(host, domains) !== undefined);
  }

  /**
   * Resolves once the sandbox can be resolved; undefined if it can be now. `spelt`: what the request names as it is spelt. The client
   * may reach it, and the request takes a slot of it.
   *
   * @throws ActivatorError if no slot is free, or the limit passes; ClientGone if the client leaves.
   */
  known(request: WaitingRequest, spelt: SpeltName, observer: Pick<ConnectObserver, "held">): Promise<void> | undefined {
    const name = storedName(request.head.host, this.#deps.domains);
    if (this.#lists.isKnown(name)) return undefined;
    return this.#hold(name, request, { spelt, observer });
  }

  async #hold(name: StoredName | undefined, request: WaitingRequest, { spelt, observer }: HeldBy): Promise<void> {
    const { cluster, holdLimits, holdDeadlines } = this.#deps;
    if (cluster.silentMs() > longestSilenceMs) throw new ActivatorError("ClusterUnseen");
    if (request.left) throw new ClientGone("the client left");
    using listening = new DisposableStack();
    let changes: Pick<ChangeSignal, "next" | "reset" | "notify"> = new ChangeSignal();
    let failure: Error | undefined;
    const end = (reason: Error) => {
      failure ??= reason;
      changes.notify();
    };
    using _slot = heldSlots(holdLimits, spelt, request, end);
    using _held = observer.held();
    const next = async () => {
      await changes.next();
      changes.reset();
      if (failure) throw failure;
    };
    using _rechecks = this.#lists.onList(() => changes.notify());
    const waiting = { timedOut: () => end(new ActivatorError("ClusterUnseen")), end };
    holdDeadlines.begin(waiting, this.#leftMs(request));
    request.onLeave(() => end(new ClientGone("the client left")));
    try {
      // A first list changes every sandbox in one step: those that wait go on in turns, by their rechecks.
      while (!cluster.synced) await next();
      if (name && !this.#lists.isKnown(name)) changes = listening.use(cluster.listen(name.namespace, name.name));
      while (!this.#lists.isKnown(name)) await next();
    } finally {
      holdDeadlines.over(waiting);
      request.onLeave(undefined);
    }
  }

  /** The sandbox's own limit is not known yet. */
  #leftMs({ head, seenMs }: WaitingRequest): number {
    const { clock, proxyTimeoutMs } = this.#deps;
    const limitMs = holdTimeoutMs(autoResumeDefaults.timeoutSeconds * 1_000, statedTimeoutMs(head), proxyTimeoutMs);
    return limitMs - (clock.ticksMs() - seenMs);
  }
}
