import type { Stored } from "../../api/kinds/meta.ts";
import type { Claims } from "../sandbox/claims.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { Lookup } from "./find.ts";
import type { HostMeaning } from "./host-name.ts";

/** A host whose meaning depends on the existing sandboxes and claims. */
export type StoredName = Extract<HostMeaning, { is: "sandbox" | "service" }>;

/** The sandbox that a host names. Its own name wins, so that a claim of the same name does not take over its host. */
export function sandboxOf<S>({ is, namespace, name }: StoredName, lookup: Lookup<S>): S | undefined {
  return lookup.sandbox(namespace, name) ?? (is === "sandbox" ? lookup.claimed(namespace, name) : undefined);
}

/** The sandboxes and claims that the watches show now. */
export const lookupIn = (
  cluster: Pick<Cluster, "sandbox">,
  claims: Pick<Claims, "sandboxOf">,
): Lookup<Stored<SlimSandbox>> => ({
  sandbox: (namespace, name) => cluster.sandbox(namespace, name),
  claimed: (namespace, name) => claims.sandboxOf(namespace, name),
});
