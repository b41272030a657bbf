import type { PersistentVolumeClaim, Service } from "../../api/kinds/core.ts";
import { keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { sandboxNameHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import type { Store } from "../../kube/informer/informer.ts";
import type { View } from "../own-writes.ts";
import type { MemoryProvider, MemoryRefusal } from "../suspension/hibernation/memory-provider.ts";
import { preflight } from "../suspension/hibernation/preflight.ts";
import { isToHibernate } from "../suspension/hibernation/strategy.ts";
import { findPod, recordedPodName } from "./find-pod.ts";
import type { Observed } from "./observed.ts";
import { claimName } from "./volumes/make-volume-claim.ts";

/** The stores that a sandbox and its children are read from. */
export interface SandboxViews {
  readonly sandboxes: View<Sandbox>;
  readonly pods: View<Pod>;
  readonly labelledPods: Pick<Store<Pod, "sandboxHash">, "by">;
  readonly services: View<Service>;
  readonly claims: View<PersistentVolumeClaim>;
  readonly memory: MemoryProvider;
}

/** Pods by namespace and tracking label, as the index of their informer. */
export const podIndexes = {
  sandboxHash: ({ metadata }: Stored<Pod>): readonly string[] => {
    const hash = metadata.labels?.[sandboxNameHashLabel];
    return hash === undefined ? [] : [keyFor(metadata.namespace, hash)];
  },
};

/** A snapshot of the stores; undefined when the sandbox does not exist, or is being deleted. */
export function observe(
  key: string,
  views: SandboxViews,
): Omit<Observed, "now" | "writeBehind" | "hasActivators" | "policyGap" | "suspending"> | undefined {
  const sandbox = views.sandboxes.get(key);
  if (!sandbox || sandbox.metadata.deletionTimestamp) return undefined;
  const pods = podsOf(sandbox, views);
  return {
    sandbox,
    pods,
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

function podsOf(sandbox: Stored<Sandbox>, views: SandboxViews): readonly Stored<Pod>[] {
  const { name, namespace } = sandbox.metadata;
  const labelled = views.labelledPods.by("sandboxHash", keyFor(namespace, nameHash(name)));
  const keys = new Set([...labelled.map(keyOf), keyFor(namespace, name)]);
  // An adopted Pod may have another name, and may lack the label.
  const recorded = recordedPodName(sandbox);
  if (recorded) keys.add(keyFor(namespace, recorded));
  return [...keys].flatMap((key) => views.pods.get(key) ?? []);
}

function claimsOf(sandbox: Stored<Sandbox>, views: SandboxViews): Observed["claims"] {
  const names = (sandbox.spec.volumeClaimTemplates ?? []).map((template) => claimName(template, sandbox));
  const claims = names.flatMap((name) => views.claims.get(keyFor(sandbox.metadata.namespace, name)) ?? []);
  return new Map(claims.map((claim) => [claim.metadata.name, claim]));
}
