import { sandboxV1alpha1Type } from "../../api/conversion/v1alpha1.ts";
import { persistentVolumeClaimType, podType, serviceType } from "../../api/kinds/core.ts";
import { type KubeObject, keyOf, type OwnerReference, type Stored } from "../../api/kinds/meta.ts";
import { networkPolicyType } from "../../api/kinds/network-policy.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { agentsGroup, extensionsGroup } from "../../api/kinds/sandbox.ts";
import { endpointSliceType } from "../../api/protocols/tcp-front.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { MigrateConfig } from "./config.ts";
import { listServed } from "./list-served.ts";
import type { Outcome } from "./outcome.ts";
import { writeOne } from "./write-one.ts";

/** The kinds of objects that the four kinds own. Sandboxes in the version that both releases serve. */
const ownedKinds: readonly ResourceType[] = [
  sandboxV1alpha1Type,
  podType,
  serviceType,
  persistentVolumeClaimType,
  endpointSliceType,
  networkPolicyType,
];

const newer = [`${agentsGroup}/v1beta1`, `${extensionsGroup}/v1beta1`];

const passesMax = 10;

/**
 * Changes all owner references to the four kinds to `v1alpha1`. If the API server no longer serves the version of an
 * owner reference, the garbage collector never deletes the object. A running controller goes on writing owner
 * references in `v1beta1`, so the pass over all objects is repeated until a pass finds nothing to write, at most ten
 * times. After that it is a problem.
 *
 * @throws the errors of `KubeClient.list`.
 */
export async function nameOwnersInV1alpha1(
  client: KubeClient,
  config: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const written: string[] = [];
  for (let pass = 1; ; pass += 1) {
    const found = await passOver(client, config, signal);
    written.push(...found.written);
    if (config.dryRun || found.written.length === 0) return { written, notes: [], problems: found.problems };
    if (pass < passesMax) continue;
    const still = `pass ${passesMax} still found owner references in v1beta1: a controller keeps writing them; run this phase again once it has stopped`;
    return { written, notes: [], problems: [...found.problems, still] };
  }
}

/** One pass over all kinds. */
async function passOver(
  client: KubeClient,
  { namespace, dryRun }: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Pick<Outcome, "written" | "problems">> {
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
  return { written, problems };
}

const isNewer = ({ apiVersion }: OwnerReference): boolean => newer.includes(apiVersion);

/** The write has a precondition on the version that was read: a sandbox may be given to a claim meanwhile. */
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
