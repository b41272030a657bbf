import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { KubeClient, ObjectName } from "../../../kube/client/client.ts";
import { undefinedIfNotFound } from "../../../kube/client/errors.ts";

/** The Pod may be frozen meanwhile. */
const readLimitMs = 3_000;

/** What the API has of a Pod now, and not what the watch has shown; undefined: it has none. Rejects if the API does not answer. */
export async function readPod(client: Pick<KubeClient, "get">, name: ObjectName): Promise<Stored<Pod> | undefined> {
  return client.get(podType, name, AbortSignal.timeout(readLimitMs)).catch(undefinedIfNotFound);
}
