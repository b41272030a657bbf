import { effectiveSuspensionStrategy } from "../../api/rules/defaults.ts";
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
 * Whether a request that waited got a sandbox without the memory that was to be kept: its Pod is not the one of before. Nothing
 * restores memory in this release, so each new Pod is started anew.
 */
export function isStartedAnew(
  { namespace, name }: Named,
  cluster: Seen,
  { before, now }: { readonly before: string | undefined; readonly now: string },
): boolean {
  if (before === undefined || before === now) return false;
  const { type } = effectiveSuspensionStrategy(cluster.sandbox(namespace, name)?.spec ?? {});
  return type === "Hibernate";
}
