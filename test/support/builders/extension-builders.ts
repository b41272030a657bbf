// Templates, pools and their members as an API server returns them, for the namespace `lab`.

import type { KubeObject, ObjectMeta, Stored } from "../../../api/kinds/meta.ts";
import type { PodSpec } from "../../../api/kinds/pod.ts";
import { apiVersionOf } from "../../../api/kinds/resource-type.ts";
import type { Sandbox, SandboxSpec } from "../../../api/kinds/sandbox.ts";
import {
  type SandboxTemplate,
  type SandboxTemplateSpec,
  sandboxTemplateType,
} from "../../../api/kinds/sandbox-template.ts";
import {
  type SandboxWarmPool,
  type SandboxWarmPoolSpec,
  sandboxWarmPoolType,
} from "../../../api/kinds/sandbox-warm-pool.ts";
import {
  launchTypeLabel,
  templateHashLabel,
  templateRefAnnotation,
  templateRefHashLabel,
  warmPoolSandboxLabel,
} from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { currentBlueprint } from "../../../controller/blueprint/current-blueprint.ts";
import { aSandbox, controlledBy, noon, stored } from "./builders.ts";

export const templatePodSpec: PodSpec = { containers: [{ name: "main", image: "busybox:1.36" }] };

/** A SandboxTemplate named `tpl`. */
export const aTemplate = (
  spec: Partial<SandboxTemplateSpec> = {},
  metadata: Partial<ObjectMeta> = {},
): Stored<SandboxTemplate> => ({
  apiVersion: apiVersionOf(sandboxTemplateType),
  kind: sandboxTemplateType.kind,
  metadata: stored("tpl", metadata),
  spec: { podTemplate: { spec: templatePodSpec }, ...spec },
});

/** A SandboxWarmPool named `warm`, of the template `tpl`. */
export const aPool = (
  spec: Partial<SandboxWarmPoolSpec> = {},
  metadata: Partial<ObjectMeta> = {},
  status?: SandboxWarmPool["status"],
): Stored<SandboxWarmPool> => ({
  apiVersion: apiVersionOf(sandboxWarmPoolType),
  kind: sandboxWarmPoolType.kind,
  metadata: stored("warm", { generation: 1, ...metadata }),
  spec: { sandboxTemplateRef: { name: "tpl" }, ...spec },
  ...(status && { status }),
});

export interface MemberParts {
  readonly pool?: Stored<SandboxWarmPool>;
  readonly template?: Stored<SandboxTemplate>;
  /** Added to the values of the template. */
  readonly spec?: Partial<SandboxSpec>;
  readonly metadata?: Partial<ObjectMeta>;
  readonly ready?: boolean;
}

/** A member of a pool as the controller creates it: `warm-1`, just created, not ready. */
export function aMember(parts: MemberParts = {}): Stored<Sandbox> {
  const { pool = aPool(), template = aTemplate(), spec = {}, metadata = {}, ready = false } = parts;
  const { podSpec, refHash, blueprintHash, volumeClaimTemplates, service } = currentBlueprint(template);
  const conditions = [
    {
      type: "Ready",
      status: ready ? "True" : "False",
      reason: ready ? "DependenciesReady" : "DependenciesNotReady",
      message: "",
      lastTransitionTime: noon,
    } as const,
  ];
  return aSandbox(
    { podTemplate: { spec: podSpec }, volumeClaimTemplates, ...(service !== undefined && { service }), ...spec },
    {
      name: "warm-1",
      labels: {
        [warmPoolSandboxLabel]: nameHash(pool.metadata.name),
        [templateRefHashLabel]: refHash,
        [templateHashLabel]: blueprintHash,
        [launchTypeLabel]: "warm",
      },
      annotations: { [templateRefAnnotation]: template.metadata.name },
      ownerReferences: [controlledBy(pool)],
      ...metadata,
    },
    { conditions },
  );
}

/** Labels with changes; undefined removes a label. */
export const relabelled = (
  { metadata }: KubeObject,
  changes: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({ ...metadata.labels, ...changes }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
