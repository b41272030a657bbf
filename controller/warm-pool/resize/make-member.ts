import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../../../api/kinds/sandbox-warm-pool.ts";
import {
  createdByLabel,
  launchTypeLabel,
  podTemplateHashLabel,
  safeToEvictAnnotation,
  templateHashLabel,
  warmPoolSandboxLabel,
} from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { makeSandbox } from "../../blueprint/make-sandbox.ts";
import { controllerReference } from "../../ownership.ts";
import type { Observed } from "../observed.ts";

/** What an API server would make the name of a member of. */
export const memberNameBase = ({ metadata }: Stored<SandboxWarmPool>): string => `${metadata.name}-`;

/** A new member of a pool. `evictable`: the autoscaler may evict it while it is not claimed. */
export function makeMember(
  name: string,
  pool: Stored<SandboxWarmPool>,
  { object, blueprint }: NonNullable<Observed["template"]>,
  evictable: boolean,
): Sandbox {
  const podLabels = {
    [warmPoolSandboxLabel]: nameHash(pool.metadata.name),
    [podTemplateHashLabel]: blueprint.podTemplateHash,
    [templateHashLabel]: blueprint.blueprintHash,
  };
  const said = object.spec.podTemplate.metadata?.annotations?.[safeToEvictAnnotation];
  return makeSandbox(object, blueprint, {
    owner: controllerReference(sandboxWarmPoolType, pool),
    named: { name, generateName: memberNameBase(pool) },
    labels: { ...podLabels, [launchTypeLabel]: "warm", [createdByLabel]: "controller" },
    podLabels,
    podAnnotations: evictable && said === undefined ? { [safeToEvictAnnotation]: "true" } : {},
  });
}
