import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { activatorOf, type RunningActivatorFinder } from "./activators.ts";

/** The Pods that are activators. */
export interface ActivatorsConfig {
  readonly namespace: string;
  readonly labelSelector: string;
  /** The service account that their Pods run as; empty: any, so that the labels alone make an activator. */
  readonly serviceAccount: string;
  readonly drainPort: number;
  /** How long no sandbox is suspended for inactivity after an activator has vanished: its clients may reconnect by another. */
  readonly vanishGraceMs: number;
  /** How long an activator whose Pod is Ready may be silent before it no longer counts; absent: for ever. */
  readonly silenceLimitMs?: number;
}

export interface FindActivatorsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly config: ActivatorsConfig;
}

/**
 * Finds the activators of a cluster: the Pods of one namespace with their labels and their service account. A Pod with the
 * labels alone, such as a copy for debugging, would never answer, and so keep every sandbox awake. Nor would a Pod that has ended,
 * which may stay in the API for as long as a finalizer or the history of its owner keeps it.
 */
export function startActivatorFinder({ client, clock, log, config }: FindActivatorsOptions): RunningActivatorFinder {
  const { namespace, labelSelector, serviceAccount, drainPort } = config;
  const selection = { namespace, labelSelector };
  const pods = startInformer<Pod>({ client, clock, log, type: podType, indexes: {}, ...selection });
  const activatorsAmong = (found: readonly Stored<Pod>[]) =>
    found.filter(isOurs).flatMap((pod) => activatorOf(pod, drainPort) ?? []);
  const isOurs = ({ spec }: Pod) => serviceAccount === "" || (spec?.serviceAccountName ?? "default") === serviceAccount;
  return {
    synced: pods.synced,
    failed: pods.failed,
    onChange: (listener) => pods.onChange(listener),
    known: () => activatorsAmong(pods.store.list()),
    otherPods: () =>
      pods.store
        .list()
        .filter((pod) => !isOurs(pod))
        .map((pod) => ({ ...pod, apiVersion: "v1", kind: "Pod" })),
    async list(signal) {
      const { items } = await client.list(podType, { namespace, labelSelector }, signal);
      return activatorsAmong(items);
    },
    [Symbol.asyncDispose]: () => pods[Symbol.asyncDispose](),
  };
}
