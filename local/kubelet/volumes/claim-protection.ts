import { type PersistentVolumeClaim, persistentVolumeClaimType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { afterConflicts } from "../../../kube/client/after-conflicts.ts";
import type { KubeClient, ObjectName } from "../../../kube/client/client.ts";
import { undefinedIfNotFound } from "../../../kube/client/errors.ts";

/**
 * A claim with data has this finalizer, as in a cluster: its object outlives the data. So the journal of the API server tells, also after
 * `kill -9`, which data is to be removed.
 */
const protection = "kubernetes.io/pvc-protection";

export const isProtected = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.finalizers?.includes(protection) ?? false;

/**
 * Reads a claim, and protects it before it gets data, unless it is being deleted. Undefined if there is none.
 *
 * @throws ApiError when it changes all the time.
 */
export async function protectedClaim(
  client: KubeClient,
  where: ObjectName,
  signal: AbortSignal,
): Promise<Stored<PersistentVolumeClaim> | undefined> {
  return afterConflicts(async () => {
    const claim = await client.get(persistentVolumeClaimType, where, signal).catch(undefinedIfNotFound);
    if (!claim || claim.metadata.deletionTimestamp || isProtected(claim)) return claim;
    return setFinalizers(client, claim, [...(claim.metadata.finalizers ?? []), protection], signal);
  });
}

/** Lets a claim go whose data is gone. Another one with its name is left alone. */
export async function unprotect(
  client: KubeClient,
  { metadata: { namespace, name, uid } }: Stored<PersistentVolumeClaim>,
  signal: AbortSignal,
): Promise<void> {
  await afterConflicts(async () => {
    const claim = await client.get(persistentVolumeClaimType, { namespace, name }, signal).catch(undefinedIfNotFound);
    if (claim?.metadata.uid !== uid || !isProtected(claim)) return;
    const rest = claim.metadata.finalizers?.filter((finalizer) => finalizer !== protection);
    await setFinalizers(client, claim, rest ?? [], signal).catch(undefinedIfNotFound);
  });
}

function setFinalizers(
  client: KubeClient,
  { metadata: { namespace, name, uid, resourceVersion } }: Stored<PersistentVolumeClaim>,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<Stored<PersistentVolumeClaim>> {
  const body = { metadata: { uid, resourceVersion, finalizers } };
  return client.patch(persistentVolumeClaimType, { namespace, name }, { type: "merge", body }, {}, signal);
}
