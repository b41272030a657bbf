import { extensionsGroup } from "../kinds/sandbox.ts";
import { volumeClaimTemplates } from "./blueprint.ts";
import { conditions } from "./condition.ts";
import { ageColumn, type Definition, definition, readyColumn, reasonColumn } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, listOf, mapOf, object, oneOf, plainListOf, text, time, withDefault } from "./shapes.ts";

const lifecycle = object({
  shutdownPolicy: described(
    "The value says what happens when the claim expires. With Delete, the claim is deleted first, and then the sandbox. With DeleteForeground, the sandbox is deleted first, and then the claim. With Retain, the claim stays, and the sandbox is deleted.",
    withDefault(oneOf("Delete", "DeleteForeground", "Retain"), "Retain"),
  ),
  shutdownTime: described(
    "The claim expires at this time. Without a value, the claim does not expire at a fixed time.",
    time,
  ),
  ttlSecondsAfterFinished: described(
    "The claim expires this number of seconds after the sandbox has finished. Without a value, the end of the sandbox does not make the claim expire.",
    {
      ...int32,
      minimum: 0,
    },
  ),
});

const env = listOf(
  object({
    containerName: described(
      "The container with this name gets the variable. By default the first container gets the variable.",
      text,
    ),
    "name*": described("The variable has this name.", text),
    "value*": described("The variable has this value.", text),
  }),
);

const sharedSpecFields: Readonly<Record<string, JsonSchema>> = {
  additionalPodMetadata: described(
    "The labels and annotations are added to the labels and annotations of the Pod.",
    object({
      annotations: described("The annotations are added to the annotations of the Pod.", mapOf(text)),
      labels: described("The labels are added to the labels of the Pod.", mapOf(text)),
    }),
  ),
  env: described(
    "The environment variables are added to the containers. If the template does not permit such variables, the claim gets no sandbox. A claim with entries here gets a new sandbox, never one of a pool.",
    env,
  ),
  lifecycle: described("The fields say when the claim expires, and what happens then.", lifecycle),
};

const status = described(
  "The controller writes the observed state of the claim here.",
  object({
    conditions: described("The conditions of the claim are Ready and Finished.", conditions),
    sandbox: described(
      "The fields name the sandbox of the claim.",
      object({
        name: described("The sandbox has this name.", text),
        podIPs: described(
          "The Pod of the sandbox has these addresses. Without a Pod, the field is absent.",
          plainListOf(text),
        ),
      }),
    ),
  }),
);

export const sandboxClaimDefinition: Definition = definition({
  group: extensionsGroup,
  kind: "SandboxClaim",
  plural: "sandboxclaims",
  shortName: "sandboxclaim",
  description:
    "A SandboxClaim asks for one sandbox. The sandbox is taken from a pool if the pool has a ready sandbox, and is created otherwise.",
  v1beta1: {
    spec: described(
      "The spec says which sandbox the claim asks for.",
      object({
        ...sharedSpecFields,
        volumeClaimTemplates: described(
          "The volumes are added to the sandbox. If the template does not permit such volumes, the claim gets no sandbox. A claim with entries here gets a new sandbox, never one of a pool.",
          volumeClaimTemplates,
        ),
        "warmPoolRef*": described(
          "The sandbox is taken from this pool. The pool names the template.",
          object({ "name*": described("The SandboxWarmPool has this name, and is in the same namespace.", text) }),
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
      "The spec says which sandbox the claim asks for.",
      object({
        ...sharedSpecFields,
        "sandboxTemplateRef*": described(
          "The sandbox is created from this template.",
          object({ "name*": described("The SandboxTemplate has this name, and is in the same namespace.", text) }),
        ),
        warmpool: described(
          "The sandbox is taken from the pool with this name. The value default permits any pool of the template. With the value none, the sandbox is created.",
          withDefault(text, "default"),
        ),
      }),
    ),
    status,
  },
});
