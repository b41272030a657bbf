import type { Informer, Trouble } from "../../kube/informer/informer.ts";
import type { Fitness } from "../../kube/leader/leader-election.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Page } from "../../lib/net/page-server.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { NotifiableWait } from "../../lib/time/notifiable-wait.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";

/** A store, as far as its health matters. */
export type WatchedStore = Pick<Informer<never>, "kind" | "synced" | "silentMs" | "trouble">;

export interface StoreHealthOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** What Sandboxes are reconciled from. */
  readonly core: readonly WatchedStore[];
  /** Further things that Sandboxes are reconciled from; absent: none. */
  readonly coreSynced?: Promise<unknown> | undefined;
  /** What the other kinds are reconciled from. */
  readonly extensions: readonly WatchedStore[];
  /** Whether there is an election, and so perhaps a better replica. */
  readonly elects: boolean;
  /** Whether this replica serves the conversion webhook. */
  readonly converts: boolean;
}

/** How long the API server may refuse a kind until a leader gives up, and until a replica stands for election without it. */
export const refusalLimitMs = 120_000;
/**
 * How long a store may lag behind an API server that fails until a leader gives up: longer than a restart of an API server takes. While
 * the API server is away altogether, the lease ends first.
 */
export const failureLimitMs = 300_000;
// Stores become usable again without a notification; the first list has one.
const checkMs = 1_000;

/** Says whether this replica sees what it decides about. Sandboxes do not wait for the stores of the other kinds. */
export class StoreHealth implements Fitness {
  readonly #options: StoreHealthOptions;
  readonly #mayLog: OncePerMinute;
  readonly #filled = new Set<WatchedStore>();
  /** The stores that the leader decides by. */
  readonly #used = new Set<WatchedStore>();
  readonly #allFilled: Promise<unknown>;
  #coreFilled = false;

  constructor(options: StoreHealthOptions) {
    const { core, extensions, coreSynced, clock } = options;
    this.#options = options;
    this.#mayLog = new OncePerMinute(clock);
    const filled = (store: WatchedStore) => store.synced.then(() => void this.#filled.add(store));
    const coreFilled = Promise.all([...core.map(filled), coreSynced]).then(() => {
      this.#coreFilled = true;
    });
    this.#allFilled = Promise.all([coreFilled, ...extensions.map(filled)]);
  }

  /** From now on the leader decides by these stores. */
  useCore(): void {
    for (const store of this.#options.core) this.#used.add(store);
  }

  useExtensions(): void {
    for (const store of this.#options.extensions) this.#used.add(store);
  }

  seesExtensions(): boolean {
    return this.#options.extensions.every((store) => this.#follows(store));
  }

  untilFit(signal: AbortSignal): Promise<void> {
    return this.#until(() => this.#isFit(), signal);
  }

  /** Resolves once the stores of the other kinds are usable, or when the signal is aborted. */
  untilExtensions(signal: AbortSignal): Promise<void> {
    return this.#until(() => this.seesExtensions(), signal);
  }

  /** A missing kind is missing for every replica, so it is no reason. */
  reasonToYield(): string | undefined {
    const used = [...this.#used];
    const refused = used.find((store) => isRefusedForLong(store.trouble()));
    if (refused) return `the API server has refused ${refused.kind} for ${refusalLimitMs / 1_000} s`;
    const lost = used.find(isLost);
    return lost && `the API server has failed to deliver ${lost.kind} for ${failureLimitMs / 1_000} s`;
  }

  /**
   * The page of `/readyz`. A leader is ready. So is a replica that waits for a kind whose objects the API server may be
   * unable to convert: the webhook gets reviews only from ready replicas.
   */
  readyPage(): Page {
    const { core, extensions, converts } = this.#options;
    const unseen = [...core, ...extensions].filter((store) => !this.#sees(store));
    const isReady = this.#used.size > 0 || unseen.length === 0 || (converts && unseen.some(mayNeedWebhook));
    if (isReady) return { contentType: "text/plain", body: "ok" };
    return {
      status: 503,
      contentType: "text/plain",
      body: `waits for the stores of ${unseen.map(inShort).join(", ")}`,
    };
  }

  #sees(store: WatchedStore): boolean {
    const is = store.trouble()?.is;
    return this.#filled.has(store) && is !== "refused" && is !== "missing";
  }

  /** Whether it is as new as a leader needs it: a store that once was filled may have stood still since then. */
  #follows(store: WatchedStore): boolean {
    return this.#sees(store) && !isLost(store);
  }

  #isFit(): boolean {
    const { core, extensions, elects } = this.#options;
    if (!this.#coreFilled || !core.every((store) => this.#follows(store))) return false;
    // If this replica cannot see an extension, another one may: it leaves the lead to that one. It does not if the kind is missing,
    // because then no replica sees it, nor after a time limit, because then probably no other one does either.
    return extensions.every((store) => {
      const trouble = store.trouble();
      return !elects || this.#follows(store) || trouble?.is === "missing" || lastsLong(trouble) || isLost(store);
    });
  }

  async #until(reached: () => boolean, signal: AbortSignal): Promise<void> {
    const { clock, log, core, extensions } = this.#options;
    const all = [...core, ...extensions];
    // One promise that lives long must not be raced each second: it would keep each of these races.
    const pause = new NotifiableWait(clock);
    void this.#allFilled.then(() => pause.notify());
    while (!signal.aborted && !reached()) {
      const unseen = all.filter((store) => !this.#sees(store));
      if (unseen.some((store) => store.trouble()) && this.#mayLog.asks("unseen")) {
        log.warn(
          { kinds: unseen.map(inShort) },
          "the API server does not deliver the objects of these kinds; all work that needs the objects waits",
        );
      }
      await pause.wait(checkMs, signal);
    }
  }
}

const lastsLong = (trouble: Trouble | undefined): boolean => trouble !== undefined && trouble.forMs >= refusalLimitMs;

const isRefusedForLong = (trouble: Trouble | undefined): boolean => trouble?.is === "refused" && lastsLong(trouble);

/** By its age: failures of different sorts may follow each other, each of them briefly. */
function isLost(store: WatchedStore): boolean {
  const trouble = store.trouble();
  return trouble !== undefined && trouble.is !== "missing" && store.silentMs() >= failureLimitMs;
}

const mayNeedWebhook = (store: WatchedStore): boolean =>
  store.kind.startsWith("Sandbox") && store.trouble()?.is === "failed";

const inShort = (store: WatchedStore): string => `${store.kind} (${store.trouble()?.is ?? "not listed yet"})`;
