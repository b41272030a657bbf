import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod, PodStatus } from "../../../api/kinds/pod.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { readyStatus } from "../builders/builders.ts";

/**
 * Stands for the node of every Pod: reports it as running and ready, and removes it after its deletion. It starts no
 * processes.
 */
export function startFakeKubelet(client: KubeClient, status: PodStatus = readyStatus): AsyncDisposable {
  const pods = startInformer<Pod>({ client, type: podType, indexes: {}, clock: systemClock, log: silentLogger });
  const care = async (pod: Stored<Pod>) => {
    const { name, namespace, uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp) {
      await client.delete(podType, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } else if (pod.status?.phase === "Pending" && !pod.spec?.schedulingGates?.length) {
      await client.patch(podType, { namespace, name }, { type: "merge", body: { status } }, { subresource: "status" });
    }
  };
  const caring = new Set<Promise<unknown>>();
  pods.onChange(({ current }) => {
    if (!current) return;
    // The Pod may have been deleted or replaced meanwhile.
    const cared = care(current)
      .catch((error: unknown) => isNotFound(error) || isConflict(error) || Promise.reject(error))
      .finally(() => caring.delete(cared));
    caring.add(cared);
  });
  return {
    async [Symbol.asyncDispose]() {
      await pods[Symbol.asyncDispose]();
      await Promise.all(caring);
    },
  };
}
