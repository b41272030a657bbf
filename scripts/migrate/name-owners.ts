import { endpointSliceType } from "../../api/between-programs/tcp-front.ts";
import { sandboxV1alpha1Type } from "../../api/conversion/v1alpha1.ts";
import { persistentVolumeClaimType, podType, serviceType } from "../../api/kinds/core.ts";
import { memoryImageType } from "../../api/kinds/memory-image.ts";
import { type KubeObject, keyOf, type OwnerReference, type Stored } from "../../api/kinds/meta.ts";
import { networkPolicyType } from "../../api/kinds/network-policy.ts";
import { groupOf, type ResourceType } from "../../api/kinds/resource-type.ts";
import { agentsGroup, extensionsGroup, sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import type { MigrateConfig } from "./config.ts";
import { listServed } from "./list-served.ts";
import type { Outcome } from "./outcome.ts";
import type { StoredVersion } from "./stored-version.ts";
import { writeOne } from "./write-one.ts";

const sandboxTypes: Readonly<Record<StoredVersion, ResourceType>> = {
  v1alpha1: sandboxV1alpha1Type,
  v1beta1: sandboxType,
};

/** A kind of objects that the four kinds own. */
interface OwnedKind {
  readonly type: ResourceType;
  /** An admission policy of the chart lets only the controller change them. */
  readonly isLocked: boolean;
}

const unlocked = [podType, serviceType, persistentVolumeClaimType, endpointSliceType, networkPolicyType];

/** Sandboxes are read in the version that stays. */
export const ownedKinds = (version: StoredVersion): readonly OwnedKind[] => [
  ...[sandboxTypes[version], ...unlocked].map((type) => ({ type, isLocked: false })),
  { type: memoryImageType, isLocked: true },
];

const passesMax = 10;

/**
 * Changes all owner references to the four kinds to `version`. If the API server no longer serves the version of an
 * owner reference, the garbage collector never deletes the object. A running controller may go on writing owner
 * references in the other version, so the pass over all objects is repeated until a pass finds nothing to write, at most
 * ten times. After that it is a problem. So is a kind that cannot be listed, and an object that only the controller may change.
 *
 * @throws ApiUnreachable when the API server does not answer.
 */
export async function nameOwnersIn(
  version: StoredVersion,
  client: KubeClient,
  config: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const renaming = { client, other: otherThan(version), version, signal };
  const written: string[] = [];
  for (let pass = 1; ; pass += 1) {
    const found = await passOver(renaming, config);
    written.push(...found.written);
    if (config.dryRun || found.written.length === 0) return { written, notes: [], problems: found.problems };
    if (pass < passesMax) continue;
    const still = `pass ${passesMax} still found owner references in ${renaming.other}: a controller keeps writing them; run this phase again once it has stopped`;
    return { written, notes: [], problems: [...found.problems, still] };
  }
}

interface Renaming {
  readonly client: KubeClient;
  readonly version: StoredVersion;
  /** The version that the owner references have until then. */
  readonly other: StoredVersion;
  readonly signal: AbortSignal;
}

const otherThan = (version: StoredVersion): StoredVersion => (version === "v1beta1" ? "v1alpha1" : "v1beta1");

/** One pass over all kinds. */
async function passOver(
  renaming: Renaming,
  { namespace, dryRun }: Pick<MigrateConfig, "namespace" | "dryRun">,
): Promise<Pick<Outcome, "written" | "problems">> {
  const { client, version, other, signal } = renaming;
  const written: string[] = [];
  const problems: string[] = [];
  for (const { type, isLocked } of ownedKinds(version)) {
    const objects = await listServed(client, type, namespace, signal).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      problems.push(`owners of ${type.plural}: they cannot be listed: ${error.message}`);
      return [];
    });
    for (const object of objects ?? []) {
      if (!object.metadata.ownerReferences?.some((owner) => isNamedIn(other, owner))) continue;
      const name = `owner of ${type.kind} ${keyOf(object)}`;
      if (isLocked) {
        problems.push(
          `${name}: only the controller may change it: disable hibernation and delete all ${type.plural} first`,
        );
        continue;
      }
      const result = dryRun ? "written" : await nameOwners(type, object, renaming);
      if (result === "written") written.push(name);
      else if (result instanceof Error) problems.push(`${name}: ${result.message}`);
    }
  }
  return { written, problems };
}

const isNamedIn = (version: StoredVersion, { apiVersion }: OwnerReference): boolean =>
  apiVersion === `${agentsGroup}/${version}` || apiVersion === `${extensionsGroup}/${version}`;

/** The write has a precondition on the version that was read: a sandbox may be given to a claim meanwhile. */
function nameOwners(
  type: ResourceType,
  listed: Stored<KubeObject>,
  { client, version, other, signal }: Renaming,
): Promise<"written" | "gone" | Error> {
  const { namespace, name } = listed.metadata;
  const rename = (owner: OwnerReference) =>
    isNamedIn(other, owner) ? { ...owner, apiVersion: `${groupOf(owner.apiVersion)}/${version}` } : owner;
  return writeOne(async (attempt) => {
    const current = attempt === 1 ? listed : await client.get(type, { namespace, name }, signal);
    const { resourceVersion, ownerReferences = [] } = current.metadata;
    const body = { metadata: { resourceVersion, ownerReferences: ownerReferences.map(rename) } };
    await client.patch(type, { namespace, name }, { type: "merge", body }, {}, signal);
  }, signal);
}
