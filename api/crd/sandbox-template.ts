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
    "Whether claims may set environment variables: no (Disallowed), only new ones (Allowed), or also those of the template (Overrides).",
    withDefault(oneOf("Allowed", "Overrides", "Disallowed"), "Disallowed"),
  ),
  networkPolicy: described("Network rules that replace the built-in ones, even if empty.", networkPolicy),
  networkPolicyManagement: described(
    "Whether the controller creates a NetworkPolicy for the sandboxes of this template (Managed) or not (Unmanaged).",
    withDefault(oneOf("Managed", "Unmanaged"), "Managed"),
  ),
  volumeClaimTemplates: described(
    "A PersistentVolumeClaim for each entry, for each sandbox. A change affects only sandboxes that are created later.",
    volumeClaimTemplates,
  ),
};

const meaning = "The blueprint of the sandboxes.";

export const sandboxTemplateDefinition: Definition = definition({
  group: extensionsGroup,
  kind: "SandboxTemplate",
  plural: "sandboxtemplates",
  shortName: "sandboxtemplate",
  description: "A blueprint of sandboxes, for pools and claims.",
  v1beta1: {
    spec: described(
      meaning,
      object({
        ...sharedFields,
        volumeClaimTemplatesPolicy: described(
          "Whether claims may set volumeClaimTemplates: no (Disallowed), only new ones (Allowed), or also those of the template (Overrides).",
          withDefault(oneOf("Disallowed", "Allowed", "Overrides"), "Disallowed"),
        ),
      }),
    ),
  },
  v1alpha1: { spec: described(meaning, object(sharedFields)) },
});
