import type { JsonSchema } from "./json-schema.ts";
import { podSpec } from "./pod-spec.ts";
import { bool, described, listOf, mapOf, object, text } from "./shapes.ts";
import { storageClaimSpec } from "./storage-claim.ts";

const podTemplate = object({
  metadata: described(
    "The Pod gets the labels and annotations. No other metadata of the Pod can be set.",
    object({
      annotations: described(
        "The Pod gets these annotations. Keys that are reserved for the system are ignored.",
        mapOf(text),
      ),
      labels: described("The Pod gets these labels. Keys that are reserved for the system are ignored.", mapOf(text)),
    }),
  ),
  "spec*": described("The specification of the Pod is the PodSpec of the core API.", podSpec),
});

/** The volume claims of a sandbox, or those that a SandboxClaim adds. */
export const volumeClaimTemplates = listOf(
  object({
    metadata: described(
      "The name is that by which containers mount the volume. The PersistentVolumeClaim gets the labels and annotations.",
      object({
        annotations: described("The PersistentVolumeClaim gets these annotations.", mapOf(text)),
        labels: described("The PersistentVolumeClaim gets these labels.", mapOf(text)),
        name: described(
          "The volume has this name in the Pod. The name of the PersistentVolumeClaim is this name, a dash, and the name of the sandbox.",
          text,
        ),
      }),
    ),
    "spec*": described("The requested storage is the specification of a PersistentVolumeClaim.", storageClaimSpec),
  }),
);

/** The blueprint of a sandbox; Sandbox and SandboxTemplate have the same three fields. */
export const blueprintFields: Readonly<Record<string, JsonSchema>> = {
  "podTemplate*": described(
    "The Pod is created from this template. A change takes effect when the next Pod is created, for example after a suspension; only labels and annotations are applied to an existing Pod.",
    podTemplate,
  ),
  service: described(
    "With true, the controller creates a Service with the name of the sandbox, and the sandbox is not Ready without the Service. With false, the controller deletes the Service. Without a value, no Service is created, and an existing Service is kept.",
    bool,
  ),
};
