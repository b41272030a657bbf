import { persistentVolumeClaimType, podType, serviceType } from "../api/core.ts";
import { type KubeObject, keyOf, type OwnerReference, type Stored } from "../api/meta.ts";
import { networkPolicyType } from "../api/network-policy.ts";
import type { ResourceType } from "../api/resource-type.ts";
import { agentsGroup, extensionsGroup, sandboxType } from "../api/sandbox.ts";
import { endpointSliceType } from "../api/tcp-front.ts";
import type { KubeClient } from "../kube/client.ts";
import type { MigrateConfig } from "./config.ts";
import { listServed } from "./list-served.ts";
import type { Outcome } from "./outcome.ts";
import { writeOne } from "./write-one.ts";

/** What the four kinds own. */
const ownedKinds: readonly ResourceType[] = [
  sandboxType,
  podType,
  serviceType,
  persistentVolumeClaimType,
  endpointSliceType,
  networkPolicyType,
];

const newer = [`${agentsGroup}/v1beta1`, `${extensionsGroup}/v1beta1`];

/**
 * Has whatever one of the four kinds owns name its owner in `v1alpha1`. A cluster that no longer knows the version in which an
 * owner is named never deletes what it has owned.
 *
 * @throws what `KubeClient.list` throws.
 */
export async function nameOwnersInV1alpha1(
  client: KubeClient,
  { namespace, dryRun }: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const written: string[] = [];
  const problems: string[] = [];
  for (const type of ownedKinds) {
    for (const object of (await listServed(client, type, namespace, signal)) ?? []) {
      if (!object.metadata.ownerReferences?.some(isNewer)) continue;
      const name = `owner of ${type.kind} ${keyOf(object)}`;
      const result = dryRun ? "written" : await nameOwners(client, type, object, signal);
      if (result === "written") written.push(name);
      else if (result instanceof Error) problems.push(`${name}: ${result.message}`);
    }
  }
  return { written, notes: [], problems };
}

const isNewer = ({ apiVersion }: OwnerReference): boolean => newer.includes(apiVersion);

/** Writes only over what was read: a sandbox may be given to a claim meanwhile. */
function nameOwners(
  client: KubeClient,
  type: ResourceType,
  listed: Stored<KubeObject>,
  signal: AbortSignal,
): Promise<"written" | "gone" | Error> {
  const { namespace, name } = listed.metadata;
  return writeOne(async (attempt) => {
    const current = attempt === 1 ? listed : await client.get(type, { namespace, name }, signal);
    await client.patch(type, { namespace, name }, { type: "merge", body: namingOwners(current) }, {}, signal);
  }, signal);
}

const namingOwners = ({ metadata: { resourceVersion, ownerReferences = [] } }: KubeObject) => ({
  metadata: {
    resourceVersion,
    ownerReferences: ownerReferences.map((owner) =>
      isNewer(owner) ? { ...owner, apiVersion: owner.apiVersion.replace("v1beta1", "v1alpha1") } : owner,
    ),
  },
});
