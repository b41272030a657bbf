import { podType } from "../../api/core.ts";
import type { Pod } from "../../api/pod.ts";
import type { KubeClient } from "../../kube/client.ts";
import { startInformer } from "../../kube/start-informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import { activatorOf, type RunningActivatorFinder } from "./activators.ts";

/** Which Pods are activators. */
export interface ActivatorsConfig {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly drainPort: number;
  /** After one has vanished no sandbox falls asleep for so long: its clients may come back by another. */
  readonly vanishGraceMs: number;
}

export interface FindActivatorsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly config: ActivatorsConfig;
}

/** Finds the activators of a cluster by the labels of their Pods. */
export function startActivatorFinder({ client, clock, log, config }: FindActivatorsOptions): RunningActivatorFinder {
  const { namespace, labelSelector, drainPort } = config;
  const selection = { namespace, labelSelector };
  const pods = startInformer<Pod>({ client, clock, log, type: podType, indexes: {}, ...selection });
  return {
    synced: pods.synced,
    failed: pods.failed,
    onChange: (listener) => pods.onChange(listener),
    known: () => pods.store.list().map((pod) => activatorOf(pod, drainPort)),
    async list(signal) {
      const { items } = await client.list(podType, selection, signal);
      return items.map((pod) => activatorOf(pod, drainPort));
    },
    [Symbol.asyncDispose]: () => pods[Symbol.asyncDispose](),
  };
}
