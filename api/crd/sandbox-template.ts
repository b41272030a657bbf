import { extensionsGroup } from "../kinds/sandbox.ts";
import { autoFields } from "./auto-fields.ts";
import { blueprintFields, volumeClaimTemplates } from "./blueprint.ts";
import { type Definition, definition } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import { networkPolicy } from "./network-policy.ts";
import { described, object, oneOf, withDefault } from "./shapes.ts";

const sharedFields: Readonly<Record<string, JsonSchema>> = {
  ...blueprintFields,
  ...autoFields,
  envVarsInjectionPolicy: described(
    "With Disallowed, claims must not set environment variables. With Allowed, claims may set only new variables. With Overrides, claims may also replace variables of the template.",
    withDefault(oneOf("Allowed", "Overrides", "Disallowed"), "Disallowed"),
  ),
  networkPolicy: described("The rules replace the built-in network rules, even if the field is empty.", networkPolicy),
  networkPolicyManagement: described(
    "With Managed, the controller creates a NetworkPolicy for the sandboxes of the template. With Unmanaged, the controller creates none.",
    withDefault(oneOf("Managed", "Unmanaged"), "Managed"),
  ),
  volumeClaimTemplates: described(
    "Each sandbox gets a PersistentVolumeClaim for each entry. A change affects only sandboxes that are created later.",
    volumeClaimTemplates,
  ),
};

const meaning = "The spec is the blueprint of the sandboxes.";

export const sandboxTemplateDefinition: Definition = definition({
  group: extensionsGroup,
  kind: "SandboxTemplate",
  plural: "sandboxtemplates",
  shortName: "sandboxtemplate",
  description: "A SandboxTemplate has the blueprint of sandboxes, for pools and claims.",
  v1beta1: {
    spec: described(
      meaning,
      object({
        ...sharedFields,
        volumeClaimTemplatesPolicy: described(
          "With Disallowed, claims must not set volumeClaimTemplates. With Allowed, claims may only add new ones. With Overrides, claims may also replace entries of the template.",
          withDefault(oneOf("Disallowed", "Allowed", "Overrides"), "Disallowed"),
        ),
      }),
    ),
  },
  v1alpha1: { spec: described(meaning, object(sharedFields)) },
});
