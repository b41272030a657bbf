import { extensionsGroup } from "../sandbox.ts";
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
    "What claims may do with environment variables: nothing (Disallowed), add new ones (Allowed), or replace those of the template too (Overrides).",
    withDefault(oneOf("Allowed", "Overrides", "Disallowed"), "Disallowed"),
  ),
  networkPolicy: described("Network rules that take the place of the built-in ones, even when empty.", networkPolicy),
  networkPolicyManagement: described(
    "Whether a NetworkPolicy is made for the sandboxes of this template (Managed) or not (Unmanaged).",
    withDefault(oneOf("Managed", "Unmanaged"), "Managed"),
  ),
  volumeClaimTemplates: described(
    "A PersistentVolumeClaim for each entry, for each sandbox. A change reaches sandboxes that are made later.",
    volumeClaimTemplates,
  ),
};

const meaning = "What the sandboxes of this template are made of.";

export const sandboxTemplateDefinition: Definition = definition({
  group: extensionsGroup,
  kind: "SandboxTemplate",
  plural: "sandboxtemplates",
  shortName: "sandboxtemplate",
  description: "What sandboxes are made from, for pools and claims.",
  v1beta1: {
    spec: described(
      meaning,
      object({
        ...sharedFields,
        volumeClaimTemplatesPolicy: described(
          "What claims may do with volumeClaimTemplates: nothing (Disallowed), add new ones (Allowed), or replace those of the template too (Overrides).",
          withDefault(oneOf("Disallowed", "Allowed", "Overrides"), "Disallowed"),
        ),
      }),
    ),
  },
  v1alpha1: { spec: described(meaning, object(sharedFields)) },
});
