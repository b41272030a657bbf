import { extensionsGroup } from "../sandbox.ts";
import { volumeClaimTemplates } from "./blueprint.ts";
import { conditions } from "./condition.ts";
import { ageColumn, type Definition, definition, readyColumn, reasonColumn } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, listOf, mapOf, object, oneOf, plainListOf, text, time, withDefault } from "./shapes.ts";

const lifecycle = object({
  shutdownPolicy: described(
    "What becomes of the claim when it expires. Delete: it is deleted, and its sandbox after it. DeleteForeground: it is deleted, and its sandbox before it. Retain: it stays, and its sandbox is deleted.",
    withDefault(oneOf("Delete", "DeleteForeground", "Retain"), "Retain"),
  ),
  shutdownTime: described("When the claim expires. Without it, it never does.", time),
  ttlSecondsAfterFinished: described("The claim expires so many seconds after its sandbox has finished.", {
    ...int32,
    minimum: 0,
  }),
});

const env = listOf(
  object({
    containerName: described("The container that gets the variable. Without it the first one does.", text),
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
    "Environment variables to add, as far as the template allows it. A claim with any gets a sandbox that is made for it.",
    env,
  ),
  lifecycle: described("When the claim ends by itself, and how.", lifecycle),
};

const status = described(
  "What was last seen of the claim.",
  object({
    conditions: described("What is known about the claim: Ready, Finished.", conditions),
    sandbox: described(
      "The sandbox that the claim has got.",
      object({
        name: described("Its name.", text),
        podIPs: described("The addresses of its Pod, while it has one.", plainListOf(text)),
      }),
    ),
  }),
);

export const sandboxClaimDefinition: Definition = definition({
  group: extensionsGroup,
  kind: "SandboxClaim",
  plural: "sandboxclaims",
  shortName: "sandboxclaim",
  description: "A request for one sandbox, taken from a pool where there is one ready.",
  v1beta1: {
    spec: described(
      "Which sandbox is asked for.",
      object({
        ...sharedSpecFields,
        volumeClaimTemplates: described(
          "Volumes to add, as far as the template allows it. A claim with any gets a sandbox that is made for it.",
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
      "Which sandbox is asked for.",
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
