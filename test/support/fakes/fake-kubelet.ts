import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Container, ContainerStatus, Pod, PodStatus } from "../../../api/kinds/pod.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { readyStatus } from "../builders/builders.ts";

/** An image of whatever name has this content, unless it is named by another. */
export const contentOf = (image = ""): string =>
  image.includes("sha256:") ? image : `docker.io/library/${image}@sha256:${"c".repeat(64)}`;

const containerStatusOf = ({ name, image = "" }: Container): ContainerStatus => {
  const imageID = contentOf(image);
  return { name, image, imageID, ready: true, restartCount: 0, state: { running: {} } };
};

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
    } else if (pod.spec && pod.status?.phase === "Pending" && !pod.spec?.schedulingGates?.length) {
      const containerStatuses = pod.spec.containers.map(containerStatusOf);
      const body = { status: { containerStatuses, ...status } };
      await client.patch(podType, { namespace, name }, { type: "merge", body }, { subresource: "status" });
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
