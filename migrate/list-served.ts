import type { KubeObject, Stored } from "../api/meta.ts";
import type { ResourceType } from "../api/resource-type.ts";
import type { KubeClient } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";
import { listEverything } from "../kube/list-everything.ts";

/**
 * All objects of a kind; undefined when the server does not know the kind, or not in this version.
 *
 * @throws what `KubeClient.list` throws.
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
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
