import type { ObjectMeta, OwnerReference, Stored } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import { podNameAnnotation, templateRefAnnotation, templateRefHashLabel } from "../../api/rules/keys.ts";
import { objectPatch } from "../merge-patch.ts";
import type { CurrentBlueprint } from "./current-blueprint.ts";

/** What a pool or a claim adds to a sandbox of a template. */
export interface Maker {
  readonly owner: OwnerReference;
  /** The name, and the `generateName` that it was built from. */
  readonly named: Required<Pick<ObjectMeta, "name">> & Pick<ObjectMeta, "generateName">;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Added to the template's Pod labels and annotations. */
  readonly podLabels: Readonly<Record<string, string>>;
  readonly podAnnotations?: Readonly<Record<string, string>>;
}

/**
 * A new Sandbox of a template, with the trace context of the template. The name of its Pod is known already; to record
 * it here saves a later write.
 */
export function makeSandbox(template: Stored<SandboxTemplate>, current: CurrentBlueprint, maker: Maker): Sandbox {
  const { name, namespace = "" } = template.metadata;
  const { labels, annotations } = template.spec.podTemplate.metadata ?? {};
  const ofTemplate = { [templateRefHashLabel]: current.refHash };
  const podAnnotations = { ...annotations, ...maker.podAnnotations };
  return {
    apiVersion: apiVersionOf(sandboxType),
    kind: sandboxType.kind,
    metadata: {
      ...maker.named,
      namespace,
      labels: { ...maker.labels, ...ofTemplate },
      annotations: { ...maker.annotations, [templateRefAnnotation]: name, [podNameAnnotation]: maker.named.name },
      ownerReferences: [maker.owner],
    },
    spec: {
      podTemplate: {
        metadata: {
          labels: { ...labels, ...maker.podLabels, ...ofTemplate },
          ...(Object.keys(podAnnotations).length > 0 && { annotations: podAnnotations }),
        },
        spec: current.podSpec,
      },
      ...(current.volumeClaimTemplates.length > 0 && { volumeClaimTemplates: current.volumeClaimTemplates }),
      ...(current.service !== undefined && { service: current.service }),
      ...autoFields(template.spec),
    },
  };
}

type AutoFields = Pick<SandboxSpec, "autoSuspension" | "autoResume" | "suspensionStrategy">;

/** The template's fields of sleeping and waking, if set. */
const autoFields = ({ autoSuspension, autoResume, suspensionStrategy }: AutoFields): AutoFields => ({
  ...(autoSuspension && { autoSuspension }),
  ...(autoResume && { autoResume }),
  ...(suspensionStrategy && { suspensionStrategy }),
});

/**
 * The merge patch under `spec` that sets a sandbox's fields of sleeping and waking to the template's; undefined when
 * they are equal. It is applied when a pool member is given to a claim: before that the fields have no effect, and
 * afterwards they belong to the owner of the claim.
 */
export const autoFieldsPatch = (sandbox: AutoFields, template: AutoFields) =>
  objectPatch({ ...autoFields(sandbox) }, { ...autoFields(template) });
