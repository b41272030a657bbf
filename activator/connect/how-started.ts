import { effectiveSuspensionStrategy } from "../../api/rules/defaults.ts";
import { memoryImageAnnotation } from "../../api/rules/keys.ts";
import type { StartedHow } from "../headers/started-header.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { Destination } from "./connect-request.ts";

type Seen = Pick<Cluster, "synced" | "sandbox" | "podOf">;
type Named = Pick<Destination, "namespace" | "name">;

/** The UID of the Pod that a sandbox has now; empty: it has none. Undefined: not known yet. */
export function podUidNow({ namespace, name }: Named, cluster: Seen): string | undefined {
  const sandbox = cluster.synced ? cluster.sandbox(namespace, name) : undefined;
  return sandbox && (cluster.podOf(sandbox)?.metadata.uid ?? "");
}

/**
 * What a request that waited may say of the memory of its sandbox, when the response begins. Undefined: its Pod is the one of before, or no
 * memory was to be kept. Of a Pod that asks for memory, only its node knows what it got. The status tells that, often after the first response
 * has begun: no response waits for it. A restore that has failed is told earlier, as it takes time to start anew.
 */
export function howStarted(
  { namespace, name }: Named,
  cluster: Seen,
  { before, now }: { readonly before: string | undefined; readonly now: string },
): (() => StartedHow | undefined) | undefined {
  if (before === undefined || before === now) return undefined;
  const sandbox = cluster.sandbox(namespace, name);
  if (!sandbox || effectiveSuspensionStrategy(sandbox.spec).type !== "Hibernate") return undefined;
  if (cluster.podOf(sandbox)?.metadata.annotations?.[memoryImageAnnotation] === undefined) return () => "anew";
  return () => {
    const wake = cluster.sandbox(namespace, name)?.status?.hibernation?.lastWake;
    if (wake?.podUID !== now) return undefined;
    return wake.mode === "Restored" ? "restored" : "anew";
  };
}
