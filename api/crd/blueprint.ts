import type { JsonSchema } from "./json-schema.ts";
import { podSpec } from "./pod-spec.ts";
import { bool, described, listOf, mapOf, object, text } from "./shapes.ts";
import { storageClaimSpec } from "./storage-claim.ts";

const podTemplate = object({
  metadata: described(
    "Labels and annotations of the Pod. Nothing else of a Pod's metadata can be set.",
    object({
      annotations: described(
        "Annotations of the Pod. Keys that the system reserves for itself are left out.",
        mapOf(text),
      ),
      labels: described("Labels of the Pod. Keys that the system reserves for itself are left out.", mapOf(text)),
    }),
  ),
  "spec*": described("What runs: the specification of a Pod, as in the core API.", podSpec),
});

/** The claims that a sandbox brings along, or that a SandboxClaim adds to it. */
export const volumeClaimTemplates = listOf(
  object({
    metadata: described(
      "The name by which containers mount the volume, and the metadata of the PersistentVolumeClaim.",
      object({
        annotations: described("Annotations of the PersistentVolumeClaim.", mapOf(text)),
        labels: described("Labels of the PersistentVolumeClaim.", mapOf(text)),
        name: described(
          "The name of the volume in the Pod. The PersistentVolumeClaim is called by it, a dash, and the name of the sandbox.",
          text,
        ),
      }),
    ),
    "spec*": described("What storage is asked for: the specification of a PersistentVolumeClaim.", storageClaimSpec),
  }),
);

/** What a sandbox is made of; Sandbox and SandboxTemplate have the same three fields. */
export const blueprintFields: Readonly<Record<string, JsonSchema>> = {
  "podTemplate*": described(
    "The Pod to run. A change takes effect when the Pod is next made, for example after a suspension; only labels and annotations reach a Pod that is there already.",
    podTemplate,
  ),
  service: described(
    "Whether the sandbox has a Service of its own name: true makes one and waits for it, false removes it. Without a value none is made, and one that is there is kept.",
    bool,
  ),
};
