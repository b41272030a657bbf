import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import type { OwnWrites } from "../../own-writes.ts";

interface PodDeletion {
  readonly client: KubeClient;
  readonly pods: OwnWrites<Pod, "trackedOwner">;
}

/** Whether this Pod (by UID) was there to be deleted. */
export async function deletePod(
  pod: Stored<Pod>,
  { client, pods }: PodDeletion,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name, uid } = pod.metadata;
  let deleted = true;
  await pods.delete(pod, async () => {
    try {
      await client.delete(podType, { namespace, name }, { preconditions: { uid } }, signal);
    } catch (error) {
      // It is gone: it counts as terminating until the watch reports the deletion.
      if (!isNotFound(error) && !isConflict(error)) throw error;
      deleted = false;
    }
  });
  return deleted;
}
