import { effectiveSuspensionStrategy } from "../../api/rules/defaults.ts";
import { memoryImageAnnotation } from "../../api/rules/keys.ts";
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
 * Whether a request that waited got a sandbox without the memory that was to be kept: its Pod is not the one of before. Of a Pod
 * that is to be restored, only its node knows whether it was: nothing is said then.
 */
export function isStartedAnew(
  { namespace, name }: Named,
  cluster: Seen,
  { before, now }: { readonly before: string | undefined; readonly now: string },
): boolean {
  if (before === undefined || before === now) return false;
  const sandbox = cluster.sandbox(namespace, name);
  if (!sandbox || effectiveSuspensionStrategy(sandbox.spec).type !== "Hibernate") return false;
  return cluster.podOf(sandbox)?.metadata.annotations?.[memoryImageAnnotation] === undefined;
}
