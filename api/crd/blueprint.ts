import type { JsonSchema } from "./json-schema.ts";
import { podSpec } from "./pod-spec.ts";
import { bool, described, listOf, mapOf, object, text } from "./shapes.ts";
import { storageClaimSpec } from "./storage-claim.ts";

const podTemplate = object({
  metadata: described(
    "Labels and annotations of the Pod. No other metadata of the Pod can be set.",
    object({
      annotations: described("Annotations of the Pod. Keys that are reserved for the system are ignored.", mapOf(text)),
      labels: described("Labels of the Pod. Keys that are reserved for the system are ignored.", mapOf(text)),
    }),
  ),
  "spec*": described("The specification of the Pod, as in the core API.", podSpec),
});

/** The volume claims of a sandbox, or those that a SandboxClaim adds. */
export const volumeClaimTemplates = listOf(
  object({
    metadata: described(
      "The name by which containers mount the volume, and the metadata of the PersistentVolumeClaim.",
      object({
        annotations: described("Annotations of the PersistentVolumeClaim.", mapOf(text)),
        labels: described("Labels of the PersistentVolumeClaim.", mapOf(text)),
        name: described(
          "The name of the volume in the Pod. The name of the PersistentVolumeClaim is this name, a dash, and the name of the sandbox.",
          text,
        ),
      }),
    ),
    "spec*": described("The requested storage: the specification of a PersistentVolumeClaim.", storageClaimSpec),
  }),
);

/** The blueprint of a sandbox; Sandbox and SandboxTemplate have the same three fields. */
export const blueprintFields: Readonly<Record<string, JsonSchema>> = {
  "podTemplate*": described(
    "The Pod to run. A change takes effect when the next Pod is created, for example after a suspension; only labels and annotations are applied to an existing Pod.",
    podTemplate,
  ),
  service: described(
    "Whether the sandbox has a Service of the same name: true creates it and waits for it, false deletes it. If absent, no Service is created, and an existing one is kept.",
    bool,
  ),
};
