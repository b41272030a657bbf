import { extensionsGroup } from "../kinds/sandbox.ts";
import { ageColumn, type Definition, definition, type PrinterColumn, scaleSubresource } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, int64, object, oneOf, text, withDefault } from "./shapes.ts";

const replicas = described("Number of sandboxes that the pool keeps ready.", { ...int32, minimum: 0 });

const sharedSpecFields: Readonly<Record<string, JsonSchema>> = {
  "sandboxTemplateRef*": described(
    "The template of the sandboxes.",
    object({ "name*": described("The name of a SandboxTemplate of the same namespace.", text) }),
  ),
  updateStrategy: described(
    "Handling of sandboxes created before a change of the template.",
    object({
      type: described(
        "Recreate: they are replaced at once. OnReplenish: they stay until they are claimed.",
        withDefault(oneOf("Recreate", "OnReplenish"), "OnReplenish"),
      ),
    }),
  ),
};

const sharedStatusFields: Readonly<Record<string, JsonSchema>> = {
  readyReplicas: described("Number of sandboxes that are Ready.", int32),
  replicas: described("Number of sandboxes of the pool.", int32),
  selector: described("The label selector of the sandboxes.", text),
};

const columns: readonly PrinterColumn[] = [
  { name: "Ready", type: "integer", jsonPath: ".status.readyReplicas" },
  { name: "Desired", type: "integer", jsonPath: ".spec.replicas" },
  ageColumn,
];

export const sandboxWarmPoolDefinition: Definition = definition({
  group: extensionsGroup,
  kind: "SandboxWarmPool",
  plural: "sandboxwarmpools",
  shortName: "swp",
  description: "A number of sandboxes of one template, created in advance for claims.",
  v1beta1: {
    spec: described(
      "The size and the template of the pool.",
      object({ ...sharedSpecFields, replicas: withDefault(replicas, 1) }),
    ),
    status: described(
      "The observed state of the pool.",
      object({
        ...sharedStatusFields,
        observedGeneration: described("The generation of the pool that the status was set for.", {
          ...int64,
          minimum: 0,
        }),
      }),
    ),
    scale: scaleSubresource,
    columns,
  },
  v1alpha1: {
    spec: described("The size and the template of the pool.", object({ ...sharedSpecFields, "replicas*": replicas })),
    status: described("The observed state of the pool.", object(sharedStatusFields)),
    scale: scaleSubresource,
    columns,
  },
});
