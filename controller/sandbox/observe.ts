import type { PersistentVolumeClaim, Service } from "../../api/kinds/core.ts";
import { controllerOf, keyFor, type Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { sandboxNameHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import type { Store } from "../../kube/informer/informer.ts";
import type { View } from "../own-writes.ts";
import { ownershipOf } from "../ownership.ts";
import type { MemoryProvider, MemoryRefusal } from "../suspension/hibernation/memory-provider.ts";
import { preflight } from "../suspension/hibernation/preflight.ts";
import { isToHibernate } from "../suspension/hibernation/strategy.ts";
import { findPod, recordedPodName } from "./find-pod.ts";
import type { Observed } from "./observed.ts";
import { claimNames } from "./volumes/make-volume-claim.ts";

/** The stores that a sandbox and its children are read from. */
export interface SandboxViews {
  readonly sandboxes: View<Sandbox>;
  readonly pods: View<Pod>;
  readonly podIndex: Pick<Store<Pod, "trackedOwner">, "keysBy">;
  readonly services: View<Service>;
  readonly claims: View<PersistentVolumeClaim>;
  readonly memory: MemoryProvider;
}

/** More than one Pod is an error, which two prove. */
const ownPodsMax = 2;

/** The tracking label is a hash, which users can give to any number of names: the UID of the controller is part of the key. */
const trackedOwner = (namespace: string | undefined, hash: string, uid: string): string =>
  keyFor(namespace, `${hash}/${uid}`);

/** Pods by namespace, tracking label and controller, as the index of their informer. */
export const podIndexes = {
  trackedOwner: (pod: Stored<Pod>): readonly string[] => {
    const { namespace, labels } = pod.metadata;
    const hash = labels?.[sandboxNameHashLabel];
    const owner = controllerOf(pod);
    return hash === undefined || !owner ? [] : [trackedOwner(namespace, hash, owner.uid)];
  },
};

/**
 * A snapshot of the stores; undefined when the sandbox does not exist, or is being deleted. Of the Pods that it controls
 * only two are read, unless `needsAllPods`.
 */
export function observe(
  key: string,
  views: SandboxViews,
  needsAllPods: (sandbox: Stored<Sandbox>) => boolean = () => false,
): Omit<Observed, "now" | "writeBehind" | "hasActivators" | "policyGap" | "suspending"> | undefined {
  const sandbox = views.sandboxes.get(key);
  if (!sandbox || sandbox.metadata.deletionTimestamp) return undefined;
  const { pods, moreOwnPods } = podsOf(sandbox, views, needsAllPods(sandbox) ? Number.POSITIVE_INFINITY : ownPodsMax);
  return {
    sandbox,
    pods,
    moreOwnPods,
    memoryRefusal: memoryRefusalOf({ sandbox, pods }, views.memory),
    memory: views.memory.seen?.(sandbox, pods),
    service: views.services.get(key),
    claims: claimsOf(sandbox, views),
  };
}

/** Only a sandbox that is to hibernate takes the time of a preflight. */
function memoryRefusalOf(
  seen: Pick<Observed, "sandbox" | "pods">,
  provider: MemoryProvider,
): MemoryRefusal | undefined {
  const { spec } = seen.sandbox;
  if (!isToHibernate(spec)) return undefined;
  const found = findPod(seen);
  return preflight(spec, found.found === "owned" ? found.pod : undefined, provider);
}

/** The Pods that it may have by their names, whatever their owner, and those that it controls. */
function podsOf(
  sandbox: Stored<Sandbox>,
  views: SandboxViews,
  ownMax: number,
): Pick<Required<Observed>, "pods" | "moreOwnPods"> {
  const { name, namespace, uid } = sandbox.metadata;
  // An adopted Pod may have another name, and may lack the label.
  const names = new Set([recordedPodName(sandbox), name].filter((one) => one !== ""));
  const read = new Set([...names].map((one) => keyFor(namespace, one)));
  const pods = [...read].flatMap((key) => views.pods.get(key) ?? []);
  const tracked = views.podIndex.keysBy("trackedOwner", trackedOwner(namespace, nameHash(name), uid));
  const isOwn = (pod: Stored<Pod>) => ownershipOf(pod, sandbox) === "owned";
  let own = pods.filter(isOwn).length;
  let moreOwnPods = [...read].reduce((count, key) => count - Number(tracked.has(key)), tracked.size);
  for (const key of tracked) {
    if (own >= ownMax) break;
    if (read.has(key)) continue;
    moreOwnPods -= 1;
    const pod = views.pods.get(key);
    if (!pod) continue;
    pods.push(pod);
    if (isOwn(pod)) own += 1;
  }
  return { pods, moreOwnPods };
}

function claimsOf(sandbox: Stored<Sandbox>, views: SandboxViews): Observed["claims"] {
  const claims = claimNames(sandbox).flatMap(
    (name) => views.claims.get(keyFor(sandbox.metadata.namespace, name)) ?? [],
  );
  return new Map(claims.map((claim) => [claim.metadata.name, claim]));
}
