import { extensionsGroup } from "../sandbox.ts";
import { ageColumn, type Definition, definition, type PrinterColumn, scaleSubresource } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, int64, object, oneOf, text, withDefault } from "./shapes.ts";

const replicas = described("How many sandboxes the pool keeps ready.", { ...int32, minimum: 0 });

const sharedSpecFields: Readonly<Record<string, JsonSchema>> = {
  "sandboxTemplateRef*": described(
    "The template of the sandboxes.",
    object({ "name*": described("The name of a SandboxTemplate of the same namespace.", text) }),
  ),
  updateStrategy: described(
    "What becomes of sandboxes that were made before the template changed.",
    object({
      type: described(
        "Recreate: they are replaced at once. OnReplenish: they stay until they are taken.",
        withDefault(oneOf("Recreate", "OnReplenish"), "OnReplenish"),
      ),
    }),
  ),
};

const sharedStatusFields: Readonly<Record<string, JsonSchema>> = {
  readyReplicas: described("How many of them are Ready.", int32),
  replicas: described("How many sandboxes the pool has.", int32),
  selector: described("The label selector that finds them.", text),
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
  description: "A number of sandboxes of one template, made before anybody asks for them.",
  v1beta1: {
    spec: described(
      "How many sandboxes of which template.",
      object({ ...sharedSpecFields, replicas: withDefault(replicas, 1) }),
    ),
    status: described(
      "What was last seen of the pool.",
      object({
        ...sharedStatusFields,
        observedGeneration: described("The generation of the pool that this was said about.", { ...int64, minimum: 0 }),
      }),
    ),
    scale: scaleSubresource,
    columns,
  },
  v1alpha1: {
    spec: described("How many sandboxes of which template.", object({ ...sharedSpecFields, "replicas*": replicas })),
    status: described("What was last seen of the pool.", object(sharedStatusFields)),
    scale: scaleSubresource,
    columns,
  },
});
