import { keyFor, type OwnerReference, type Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { isConditionTrue } from "../../api/rules/conditions.ts";
import { warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";

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

/** The key of a pool's expectations. A UID alone would let sandboxes of other namespaces claim to be its members. */
export const expectationsKey = (namespace: string | undefined, poolUid: string): string => keyFor(namespace, poolUid);

/** The pool that a sandbox belongs to, whatever version its reference names. */
export const controllingPool = (sandbox: Sandbox): OwnerReference | undefined =>
  controllerOfKind(sandbox, sandboxWarmPoolType);

export const isReady = ({ status }: Sandbox): boolean => isConditionTrue(status?.conditions, "Ready");
