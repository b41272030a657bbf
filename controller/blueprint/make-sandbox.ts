import { podNameAnnotation, templateRefAnnotation, templateRefHashLabel } from "../../api/keys.ts";
import type { ObjectMeta, OwnerReference, Stored } from "../../api/meta.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../api/sandbox.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import { objectPatch } from "../merge-patch.ts";
import type { CurrentBlueprint } from "./current-blueprint.ts";

/** What one maker of sandboxes adds to what every sandbox of a template has. */
export interface Maker {
  readonly owner: OwnerReference;
  /** The name, and what it was made of. */
  readonly named: Required<Pick<ObjectMeta, "name">> & Pick<ObjectMeta, "generateName">;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** On top of the template's own, for the Pod. */
  readonly podLabels: Readonly<Record<string, string>>;
  readonly podAnnotations?: Readonly<Record<string, string>>;
}

/**
 * A Sandbox as its template wants it, with the traces that lead back to the template. What its Pod will be called is
 * known, and saying so here saves the write that says it later.
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

type AutoFields = Pick<SandboxSpec, "autoSuspension" | "autoResume">;

/** How the sandboxes of a template fall asleep and wake, as far as it says so. */
const autoFields = ({ autoSuspension, autoResume }: AutoFields): AutoFields => ({
  ...(autoSuspension && { autoSuspension }),
  ...(autoResume && { autoResume }),
});

/**
 * The merge patch under `spec` that brings a sandbox in line with its template about sleeping and waking; undefined when
 * it is. For the moment at which a warm one is given to a claim: until then neither matters, and afterwards both are
 * its owner's.
 */
export const autoFieldsPatch = (sandbox: AutoFields, template: AutoFields) =>
  objectPatch({ ...autoFields(sandbox) }, { ...autoFields(template) });
