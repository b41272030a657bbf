import type { KubeObject, Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";
import { warmPoolSandboxLabel } from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { listEverything } from "../../../kube/client/list-everything.ts";
import type { Informer, Written } from "../../../kube/informer/informer.ts";
import { type Backoff, backoffDelayMs } from "../../../lib/queues/backoff.ts";
import type { Clock } from "../../../lib/time/clock.ts";

const longestListPauseMs = 30_000;
/** Between two lists while the store lags behind. */
const listBackoff: Backoff = { baseMs: 200, maxMs: longestListPauseMs, jitter: 0.2 };
/** The next pass reads the store anew. */
const observeAgainMs = 1;

export interface Looking {
  readonly client: KubeClient;
  readonly store: Pick<Informer<never>, "hasSeen">;
}

/**
 * Whether the store shows a pool as it is, before this process resizes the pool for the first time. The leader before may have made or
 * deleted members a moment ago. A store that lags behind does not show that, and to count in it would be to make or delete them twice.
 */
export class FirstLook {
  readonly #clock: Clock;
  #isOver = false;
  #lists = 0;
  #nextListMs = Number.NEGATIVE_INFINITY;
  #listed: Written | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Milliseconds until the pool is to be looked at again; undefined: `shown` is all that there is. The store has to have the same members in
   * the same versions as a consistent list, or to have come as far as that list: in a large cluster something always changes.
   */
  async waitMs(
    pool: SandboxWarmPool,
    shown: readonly Stored<Sandbox>[],
    { client, store }: Looking,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    if (this.#isOver) return undefined;
    if (this.#listed && store.hasSeen(this.#listed)) {
      this.#isOver = true;
      return observeAgainMs;
    }
    const leftMs = this.#nextListMs - this.#clock.ticksMs();
    if (leftMs > 0) return leftMs;
    const { namespace, name = "" } = pool.metadata;
    const labelSelector = `${warmPoolSandboxLabel}=${nameHash(name)}`;
    const { items, resourceVersion } = await listEverything(client, sandboxType, { namespace, labelSelector }, signal);
    this.#isOver = areSame(items, shown);
    if (this.#isOver) return undefined;
    this.#lists += 1;
    const delayMs = backoffDelayMs(this.#lists, listBackoff);
    this.#listed = { atMs: this.#clock.ticksMs(), version: resourceVersion };
    this.#nextListMs = this.#listed.atMs + delayMs;
    return delayMs;
  }
}

function areSame(listed: readonly Stored<KubeObject>[], shown: readonly Stored<KubeObject>[]): boolean {
  const versions = new Set(listed.map(versionOf));
  return versions.size === shown.length && shown.every((object) => versions.has(versionOf(object)));
}

const versionOf = ({ metadata: { uid, resourceVersion } }: Stored<KubeObject>): string => `${uid} ${resourceVersion}`;
