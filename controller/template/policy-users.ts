import { podType } from "../../api/kinds/core.ts";
import { controllerOf, type KubeObject, keyFor, type OwnerReference, type Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { apiVersionOf, groupOf, type ResourceType } from "../../api/kinds/resource-type.ts";
import { extensionsGroup, type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { templateRefAnnotation, templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { createdMs } from "../../api/rules/timestamps.ts";

/** What needs the NetworkPolicy of a template: the policy selects their Pods. */
export interface PolicyUsers {
  /** Those that are not being deleted. */
  readonly sandboxes: readonly Stored<Sandbox>[];
  /** Those that still run, also while they end. */
  readonly pods: readonly Stored<Pod>[];
}

interface HolderCounts {
  /** Once fewer than so many hold the policy, and there are others, it is written again. */
  readonly min: number;
  readonly max: number;
}

/**
 * How many users own the policy beside its template. Not all, so that a policy stays small and is not written for each sandbox;
 * more than one, so that it stays when some of them go at once. Once the template is gone no user is new but Pods that wake, and
 * the holders are all there is.
 */
export const holderCounts: Readonly<
  Record<"withTemplate" | "withoutTemplate", Record<keyof PolicyUsers, HolderCounts>>
> = {
  withTemplate: { sandboxes: { min: 8, max: 16 }, pods: { min: 0, max: 0 } },
  withoutTemplate: { sandboxes: { min: 50, max: 100 }, pods: { min: 8, max: 16 } },
};

const byTemplate = ({ metadata }: Stored<KubeObject>): readonly string[] => {
  const hash = metadata.labels?.[templateRefHashLabel];
  return hash === undefined ? [] : [keyFor(metadata.namespace, hash)];
};

/** Sandboxes and Pods by namespace and hash of their template, as an index of their informers. */
export const templateHashIndexes = { templateHash: byTemplate };

/**
 * The hash by which the NetworkPolicy of a template selects the Pod of this Sandbox; undefined when no pool or claim made
 * the Sandbox from a template. A Sandbox that has lost its pool or claim (a deletion with `--cascade=orphan`) still says
 * what it was made from, and stays under the policy.
 */
export function policyHashOf(sandbox: Stored<Sandbox>): string | undefined {
  const { labels, annotations } = sandbox.metadata;
  const hash = labels?.[templateRefHashLabel];
  if (!hash) return undefined;
  const template = annotations?.[templateRefAnnotation];
  const isOfExtensions = groupOf(controllerOf(sandbox)?.apiVersion ?? "") === extensionsGroup;
  return isOfExtensions || (template !== undefined && nameHash(template) === hash) ? hash : undefined;
}

/** Whether the Pod of this Sandbox needs the policy of its template. */
export const usesPolicy = (sandbox: Stored<Sandbox>): boolean =>
  !sandbox.metadata.deletionTimestamp && policyHashOf(sandbox) !== undefined;

/** Whether anything in the Pod may still run. */
export const mayRun = ({ status }: Pod): boolean => status?.phase !== "Succeeded" && status?.phase !== "Failed";

/**
 * The references by which users are to own the policy; undefined while enough of them do. The garbage collector of Kubernetes
 * deletes an object only when all its owners are gone ("Garbage Collection", owners and dependents). None of the references
 * blocks the deletion of its owner.
 */
export function holdersFor(
  references: readonly OwnerReference[],
  users: PolicyUsers,
  counts: Record<keyof PolicyUsers, HolderCounts>,
): readonly OwnerReference[] | undefined {
  const named = new Set(references.map(({ uid }) => uid));
  const lacks = (["sandboxes", "pods"] as const).some((kind) => {
    const held = users[kind].filter(({ metadata }) => named.has(metadata.uid)).length;
    return held < Math.min(counts[kind].min, users[kind].length);
  });
  if (!lacks) return undefined;
  const sandboxes = inOrder(users.sandboxes, named).slice(0, counts.sandboxes.max);
  const pods = inOrder(users.pods, named).slice(0, counts.pods.max);
  return [...sandboxes.map(referenceTo(sandboxType)), ...pods.map(referenceTo(podType))];
}

/** Those that hold the policy already, then those of claims, which outlive a template, then the oldest. */
function inOrder<T extends KubeObject>(users: readonly Stored<T>[], named: ReadonlySet<string>): readonly Stored<T>[] {
  const rank = (user: Stored<T>) => {
    if (named.has(user.metadata.uid)) return 0;
    return controllerOf(user)?.kind === "SandboxWarmPool" ? 2 : 1;
  };
  return users.toSorted((a, b) => rank(a) - rank(b) || createdMs(a) - createdMs(b));
}

const referenceTo =
  (type: ResourceType) =>
  ({ metadata: { name, uid } }: Stored<KubeObject>): OwnerReference => ({
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    name,
    uid,
  });

/** Whether a reference is to a user, whatever version it names. */
export const isUserReference = ({ apiVersion, kind, controller }: OwnerReference): boolean =>
  !controller &&
  [sandboxType, podType].some((type: ResourceType) => kind === type.kind && groupOf(apiVersion) === type.group);
