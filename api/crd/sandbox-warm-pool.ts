import { extensionsGroup } from "../kinds/sandbox.ts";
import { ageColumn, type Definition, definition, type PrinterColumn, scaleSubresource } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, int64, object, oneOf, text, withDefault } from "./shapes.ts";

const replicas = described("The pool keeps this number of sandboxes ready.", { ...int32, minimum: 0 });

const sharedSpecFields: Readonly<Record<string, JsonSchema>> = {
  "sandboxTemplateRef*": described(
    "The sandboxes are created from this template.",
    object({ "name*": described("The SandboxTemplate has this name, and is in the same namespace.", text) }),
  ),
  updateStrategy: described(
    "The fields say what happens to sandboxes that were created before a change of the template.",
    object({
      type: described(
        "With Recreate, the controller replaces such sandboxes at once. With OnReplenish, each such sandbox stays until a claim takes the sandbox.",
        withDefault(oneOf("Recreate", "OnReplenish"), "OnReplenish"),
      ),
    }),
  ),
};

const sharedStatusFields: Readonly<Record<string, JsonSchema>> = {
  readyReplicas: described("This number of sandboxes is Ready.", int32),
  replicas: described("The pool has this number of sandboxes.", int32),
  selector: described("The label selector selects the sandboxes of the pool.", text),
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
  description:
    "A SandboxWarmPool keeps a number of sandboxes of one template, which are created in advance for claims.",
  v1beta1: {
    spec: described(
      "The spec has the size and the template of the pool.",
      object({ ...sharedSpecFields, replicas: withDefault(replicas, 1) }),
    ),
    status: described(
      "The controller writes the observed state of the pool here.",
      object({
        ...sharedStatusFields,
        observedGeneration: described("The status was set for this generation of the pool.", {
          ...int64,
          minimum: 0,
        }),
      }),
    ),
    scale: scaleSubresource,
    columns,
  },
  v1alpha1: {
    spec: described(
      "The spec has the size and the template of the pool.",
      object({ ...sharedSpecFields, "replicas*": replicas }),
    ),
    status: described("The controller writes the observed state of the pool here.", object(sharedStatusFields)),
    scale: scaleSubresource,
    columns,
  },
});
