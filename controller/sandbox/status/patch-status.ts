import { type KubeObject, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound, undefinedIfNotFound } from "../../../kube/client/errors.ts";
import type { OwnWrites } from "../../own-writes.ts";

/** How often another client may write in between. */
const attemptsMax = 5;

export interface StatusWrite<T extends KubeObject> {
  readonly client: KubeClient;
  readonly type: ResourceType<T>;
  readonly store: Pick<OwnWrites<T>, "get" | "write">;
  readonly signal: AbortSignal;
}

/**
 * Writes a status by a merge patch, whatever else has changed, but only to the object that was seen: an object that has its name since
 * stays as it is. The server ignores the uid in a patch of the status of a custom resource (`statusStrategy` of apiextensions-apiserver),
 * so each attempt has the version of that very object. An object that is gone needs no status.
 *
 * @throws ApiError 409 when the object keeps changing, or what `KubeClient` throws.
 */
export async function patchStatus<T extends KubeObject>(
  seen: Stored<T>,
  status: object,
  { client, type, store, signal }: StatusWrite<T>,
): Promise<void> {
  const key = keyOf(seen);
  const { namespace, name, uid } = seen.metadata;
  const at = { namespace, name };
  let current: Stored<T> | undefined = store.get(key) ?? seen;
  for (let attempt = 1; current?.metadata.uid === uid; attempt += 1) {
    const { resourceVersion } = current.metadata;
    const patch = { type: "merge", body: { metadata: { resourceVersion }, status } } as const;
    try {
      await store.write(key, () => client.patch(type, at, patch, { subresource: "status" }, signal));
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || attempt === attemptsMax) throw error;
    }
    current = await store.write(key, () => client.get(type, at, signal)).catch(undefinedIfNotFound);
  }
}
