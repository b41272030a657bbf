import { nodeType, type Pod, podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isOfAnotherObject } from "../../../kube/client/errors.ts";
import { listEverything } from "../../../kube/client/list-everything.ts";
import type { Store } from "../../../kube/informer/informer.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { type Running, startTask } from "../../../lib/process/lifecycle.ts";
import type { Backoff } from "../../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { secondsTime } from "../container/container-state.ts";
import { isFinished } from "../pod/pod-phase.ts";

export interface OrphanedPodsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pods: Store<Pod>;
  readonly nodeName: string;
}

// The numbers of Kubernetes: somebody may create the Node a moment after its Pods.
const checkEveryMs = 20_000;
const missingForMs = 40_000;

/**
 * Removes Pods whose node does not exist, as the Pod garbage collector of Kubernetes does: no kubelet would ever end them, and they would
 * keep their namespace from its end.
 */
export function startOrphanCollector(options: OrphanedPodsOptions): Running {
  const { clock, log } = options;
  const collector = new OrphanCollector(options);
  const backoff: Backoff = { baseMs: checkEveryMs, maxMs: 60_000, jitter: 0.2 };
  const round = async (signal: AbortSignal) => {
    await collector.check(signal);
    return checkEveryMs;
  };
  const onFailure = (err: unknown) => {
    log.warn({ err }, "could not remove the Pods of nodes that do not exist; retrying");
    return undefined;
  };
  const repetition = { clock, backoff, firstInMs: checkEveryMs, round, onFailure };
  return startTask("the collector of orphaned Pods", (signal) => repeatUntilDone({ ...repetition, signal }));
}

class OrphanCollector {
  readonly #options: OrphanedPodsOptions;
  /** Since when a node that Pods name is known to be missing. */
  #missingSinceMs: ReadonlyMap<string, number> = new Map();

  constructor(options: OrphanedPodsOptions) {
    this.#options = options;
  }

  async check(signal: AbortSignal): Promise<void> {
    const { client, clock, pods } = this.#options;
    const elsewhere = pods.list().filter((pod) => this.#nodeElsewhere(pod) !== undefined);
    if (elsewhere.length === 0) {
      this.#missingSinceMs = new Map();
      return;
    }
    const { items } = await listEverything(client, nodeType, {}, signal);
    const present = new Set(items.map(({ metadata }) => metadata.name));
    const nowMs = clock.ticksMs();
    const missing = new Set(elsewhere.flatMap((pod) => this.#nodeElsewhere(pod) ?? [])).difference(present);
    this.#missingSinceMs = new Map([...missing].map((name) => [name, this.#missingSinceMs.get(name) ?? nowMs]));
    const failures: unknown[] = [];
    for (const pod of elsewhere) {
      const sinceMs = this.#missingSinceMs.get(this.#nodeElsewhere(pod) ?? "");
      if (sinceMs === undefined || nowMs - sinceMs < missingForMs) continue;
      await this.#remove(pod, signal).catch((error: unknown) => failures.push(error));
      signal.throwIfAborted();
    }
    // One Pod that cannot be removed must not keep the others.
    if (failures.length > 0) throw failures[0];
  }

  /** The node of a Pod, if it is not this one. */
  #nodeElsewhere({ spec }: Pod): string | undefined {
    return spec?.nodeName === this.#options.nodeName ? undefined : spec?.nodeName || undefined;
  }

  async #remove(pod: Stored<Pod>, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options;
    const { name, namespace, uid } = pod.metadata;
    const where = { namespace, name };
    try {
      if (!isFinished(pod.status?.phase)) {
        const patch = { type: "strategic", body: { metadata: { uid }, status: this.#failedStatus() } } as const;
        await client.patch(podType, where, patch, { subresource: "status" }, signal);
      }
      await client.delete(podType, where, { gracePeriodSeconds: 0, preconditions: { uid } }, signal);
      log.info({ pod: `${namespace}/${name}`, node: pod.spec?.nodeName }, "removed a Pod whose node does not exist");
    } catch (error) {
      if (!isOfAnotherObject(error)) throw error;
    }
  }

  #failedStatus(): object {
    const message = "PodGC: node no longer exists";
    const lastTransitionTime = secondsTime(this.#options.clock.now());
    const condition = { type: "DisruptionTarget", status: "True", reason: "DeletionByPodGC", message };
    return { phase: "Failed", conditions: [{ ...condition, lastTransitionTime }] };
  }
}
