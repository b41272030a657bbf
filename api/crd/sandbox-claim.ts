import { extensionsGroup } from "../kinds/sandbox.ts";
import { volumeClaimTemplates } from "./blueprint.ts";
import { conditions } from "./condition.ts";
import { ageColumn, type Definition, definition, readyColumn, reasonColumn } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, listOf, mapOf, object, oneOf, plainListOf, text, time, withDefault } from "./shapes.ts";

const lifecycle = object({
  shutdownPolicy: described(
    "Action when the claim expires. Delete: it is deleted, and its sandbox after it. DeleteForeground: it is deleted, and its sandbox before it. Retain: it stays, and its sandbox is deleted.",
    withDefault(oneOf("Delete", "DeleteForeground", "Retain"), "Retain"),
  ),
  shutdownTime: described("Time at which the claim expires. If absent, it does not expire.", time),
  ttlSecondsAfterFinished: described("The claim expires this number of seconds after its sandbox has finished.", {
    ...int32,
    minimum: 0,
  }),
});

const env = listOf(
  object({
    containerName: described("The container that gets the variable. Default: the first one.", text),
    "name*": described("The name of the variable.", text),
    "value*": described("Its value.", text),
  }),
);

const sharedSpecFields: Readonly<Record<string, JsonSchema>> = {
  additionalPodMetadata: described(
    "Labels and annotations added to those of the Pod.",
    object({
      annotations: described("Annotations to add.", mapOf(text)),
      labels: described("Labels to add.", mapOf(text)),
    }),
  ),
  env: described(
    "Environment variables to add, as far as the template permits. A claim with an entry gets a new sandbox, not one of a pool.",
    env,
  ),
  lifecycle: described("When the claim expires, and the action at that time.", lifecycle),
};

const status = described(
  "The observed state of the claim.",
  object({
    conditions: described("The conditions of the claim: Ready, Finished.", conditions),
    sandbox: described(
      "The sandbox of the claim.",
      object({
        name: described("Its name.", text),
        podIPs: described("The addresses of its Pod, if it has one.", plainListOf(text)),
      }),
    ),
  }),
);

export const sandboxClaimDefinition: Definition = definition({
  group: extensionsGroup,
  kind: "SandboxClaim",
  plural: "sandboxclaims",
  shortName: "sandboxclaim",
  description: "A request for one sandbox, taken from a pool if a ready one exists.",
  v1beta1: {
    spec: described(
      "The requested sandbox.",
      object({
        ...sharedSpecFields,
        volumeClaimTemplates: described(
          "Volumes to add, as far as the template permits. A claim with an entry gets a new sandbox, not one of a pool.",
          volumeClaimTemplates,
        ),
        "warmPoolRef*": described(
          "The pool to take the sandbox from; it names the template.",
          object({ "name*": described("The name of a SandboxWarmPool of the same namespace.", text) }),
        ),
      }),
    ),
    status,
    columns: [
      readyColumn,
      { name: "Sandbox", type: "string", jsonPath: ".status.sandbox.name" },
      reasonColumn,
      ageColumn,
    ],
  },
  v1alpha1: {
    spec: described(
      "The requested sandbox.",
      object({
        ...sharedSpecFields,
        "sandboxTemplateRef*": described(
          "The template of the sandbox.",
          object({ "name*": described("The name of a SandboxTemplate of the same namespace.", text) }),
        ),
        warmpool: described(
          "The pool to take the sandbox from: a name, default for any pool of the template, or none.",
          withDefault(text, "default"),
        ),
      }),
    ),
    status,
  },
});
