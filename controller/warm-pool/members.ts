import { isConditionTrue } from "../../api/conditions.ts";
import { warmPoolSandboxLabel } from "../../api/keys.ts";
import { controllerOf, keyFor, type OwnerReference, type Stored } from "../../api/meta.ts";
import { nameHash } from "../../api/names.ts";
import { groupOf } from "../../api/resource-type.ts";
import { extensionsGroup, type Sandbox } from "../../api/sandbox.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../../api/sandbox-warm-pool.ts";

/** Sandboxes by namespace and pool label, as an index of their informer. */
export const memberIndexes = {
  pool: ({ metadata }: Stored<Sandbox>): readonly string[] => {
    const hash = metadata.labels?.[warmPoolSandboxLabel];
    return hash === undefined ? [] : [keyFor(metadata.namespace, hash)];
  },
};

/** Where a pool's sandboxes are in that index. */
export const memberIndexValue = ({ metadata }: SandboxWarmPool): string =>
  keyFor(metadata.namespace, nameHash(metadata.name ?? ""));

/** The pool that a sandbox belongs to, whatever version its reference names. */
export function controllingPool(sandbox: Sandbox): OwnerReference | undefined {
  const owner = controllerOf(sandbox);
  const isPool = owner?.kind === sandboxWarmPoolType.kind && groupOf(owner.apiVersion) === extensionsGroup;
  return isPool ? owner : undefined;
}

export const isReady = ({ status }: Sandbox): boolean => isConditionTrue(status?.conditions, "Ready");
