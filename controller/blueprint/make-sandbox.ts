import { templateRefAnnotation, templateRefHashLabel } from "../../api/keys.ts";
import type { ObjectMeta, OwnerReference, Stored } from "../../api/meta.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../api/sandbox.ts";
import type { SandboxTemplate, SandboxTemplateSpec } from "../../api/sandbox-template.ts";
import type { CurrentBlueprint } from "./current-blueprint.ts";

/** What one maker of sandboxes adds to what every sandbox of a template has. */
export interface Maker {
  readonly owner: OwnerReference;
  /** A name, or the beginning of one. */
  readonly named: Pick<ObjectMeta, "name"> | Pick<ObjectMeta, "generateName">;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** On top of the template's own, for the Pod. */
  readonly podLabels: Readonly<Record<string, string>>;
  readonly podAnnotations?: Readonly<Record<string, string>>;
}

/** A Sandbox as its template wants it, with the traces that lead back to the template. */
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
      annotations: { ...maker.annotations, [templateRefAnnotation]: name },
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

/** How the sandboxes of a template fall asleep and wake, as far as it says so. */
export const autoFields = ({
  autoSuspension,
  autoResume,
}: SandboxTemplateSpec): Pick<SandboxSpec, "autoSuspension" | "autoResume"> => ({
  ...(autoSuspension && { autoSuspension }),
  ...(autoResume && { autoResume }),
});
