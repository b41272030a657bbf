import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKindMissing } from "../../kube/client/errors.ts";
import { listEverything } from "../../kube/client/list-everything.ts";

/**
 * All objects of a kind; undefined if the server does not serve the kind, or not in this version.
 *
 * @throws the errors of `KubeClient.list`.
 */
export async function listServed<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly Stored<T>[] | undefined> {
  try {
    return (await listEverything(client, type, { namespace }, signal)).items;
  } catch (error) {
    if (isKindMissing(error)) return undefined;
    throw error;
  }
}
