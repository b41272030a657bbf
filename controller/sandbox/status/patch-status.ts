import { type Condition, type KubeObject, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import type { OwnWrites } from "../../own-writes.ts";
import { mergeConditions } from "./merge-conditions.ts";

/** How often another client may write in between. */
const attemptsMax = 5;

export interface StatusWrite<T extends KubeObject> {
  readonly client: KubeClient;
  readonly type: ResourceType<T>;
  readonly store: Pick<OwnWrites<T>, "get" | "read" | "write">;
  readonly signal: AbortSignal;
}

/**
 * Writes a status by a merge patch, whatever else has changed, but only to the object that was seen: an object that has its name since
 * stays as it is. Conditions that other programs have written since stay too. The server ignores the uid in a patch of the status of a custom resource (`statusStrategy` of apiextensions-apiserver),
 * so each attempt has the version of that very object. An object that is gone needs no status, and is not shown any more.
 *
 * @throws ApiError 404 when the object is there and its status is not served, 409 when it keeps changing, or what `KubeClient` throws.
 */
export async function patchStatus<T extends KubeObject>(
  seen: Stored<T>,
  status: object,
  { client, type, store, signal }: StatusWrite<T>,
): Promise<"written" | "gone"> {
  const key = keyOf(seen);
  const { namespace, name, uid } = seen.metadata;
  const at = { namespace, name };
  const read = () => store.read(key, () => client.get(type, at, signal));
  let current: Stored<T> | undefined = store.get(key) ?? seen;
  for (let attempt = 1; current?.metadata.uid === uid; attempt += 1) {
    const { resourceVersion } = current.metadata;
    const body = { metadata: { resourceVersion }, status: onTopOf(current, { seen, status }) };
    const patch = { type: "merge", body } as const;
    try {
      await store.write(key, () => client.patch(type, at, patch, { subresource: "status" }, signal));
      return "written";
    } catch (error) {
      if (isNotFound(error) && (await read())?.metadata.uid !== uid) return "gone";
      if (!isConflict(error) || attempt === attemptsMax) throw error;
    }
    current = await read();
  }
  return "gone";
}

/** The status for an object that may have changed since it was seen. */
function onTopOf<T extends KubeObject>(
  current: Stored<T>,
  { seen, status }: { readonly seen: Stored<T>; readonly status: object },
): object {
  const isAsSeen = current.metadata.resourceVersion === seen.metadata.resourceVersion;
  if (isAsSeen || !("conditions" in status)) return status;
  const conditions = mergeConditions(conditionsOf(seen), conditionsOf({ status }), conditionsOf(current));
  return { ...status, conditions };
}

function conditionsOf(object: object): readonly Condition[] {
  const status = "status" in object ? object.status : undefined;
  const hasSome = typeof status === "object" && status !== null && "conditions" in status;
  return hasSome && Array.isArray(status.conditions) ? status.conditions : [];
}
