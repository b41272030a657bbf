import { autoFields, autoStatusFields } from "../../api/crd/auto-fields.ts";
import type { JsonSchema } from "../../api/crd/json-schema.ts";
import { memoryImageDefinition } from "../../api/crd/memory-image.ts";
import {
  givenUpAnnotation,
  memoryImageAnnotation,
  memoryStoreAnnotation,
  policyTemplateAnnotation,
  runHashAnnotation,
  sealedPodAnnotation,
  signatureAnnotation,
  suspensionCauseAnnotation,
  tcpFrontAnnotation,
  templateGoneAnnotation,
  usedByAnnotation,
} from "../../api/rules/keys.ts";
import { code, page, table } from "./markdown.ts";

type Fields = Readonly<Record<string, JsonSchema>>;

const typeOf = ({ type, enum: words, format }: JsonSchema): string =>
  words ? words.map((word) => code(String(word))).join(", ") : (format ?? String(type ?? ""));

function rowsOf(fields: Fields, prefix: string): readonly (readonly string[])[] {
  return Object.entries(fields).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const { items, properties } = schema as { readonly items?: JsonSchema; readonly properties?: Fields };
    // Fields of Kubernetes are described by Kubernetes.
    const below =
      name === "httpGet" ? [] : rowsOf(items?.properties ?? properties ?? {}, `${path}${items ? "[]" : ""}.`);
    return [[code(path), typeOf(schema), schema.description ?? ""], ...below];
  });
}

const annotations = [
  [
    suspensionCauseAnnotation,
    "Sandbox",
    "The sandbox was suspended for inactivity, at the generation in the value. Written by the controller.",
  ],
  [
    sealedPodAnnotation,
    "Sandbox",
    "The Pod that is marked for deletion, and since when, as JSON. Written by the controller; activators send nothing to that Pod.",
  ],
  [
    runHashAnnotation,
    "Pod",
    "A hash of what the Pod runs, for hibernation. Written by the controller with --hibernation. The controller never copies annotations of this group from a template.",
  ],
  [memoryImageAnnotation, "Pod", "The MemoryImage from which the Pod is to be restored. Written by the controller."],
  [
    memoryStoreAnnotation,
    "Pod",
    "The store that has this memory, as `status.storeID` of the MemoryImage. The Pod waits while its node has another store. Written by the controller.",
  ],
  [
    signatureAnnotation,
    "Pod",
    "The signature of the controller that permits this Pod to be restored from that MemoryImage. Written by the controller, which removes the scheduling gate of the same name in the same write.",
  ],
  [
    givenUpAnnotation,
    "MemoryImage",
    "No Pod is restored from this memory any more; the value is the reason. Written by the controller.",
  ],
  [
    usedByAnnotation,
    "MemoryImage",
    "The UID of the only Pod that may be restored from this memory. Written by the controller before that Pod can start.",
  ],
  [
    policyTemplateAnnotation,
    "NetworkPolicy",
    "The name of the SandboxTemplate whose Pods the policy is for. Written by the controller.",
  ],
  [
    templateGoneAnnotation,
    "NetworkPolicy",
    "The SandboxTemplate of the policy is gone, and the policy stays for its Sandboxes and Pods. Written by the controller.",
  ],
  [
    tcpFrontAnnotation,
    "EndpointSlice",
    "Which activator port stands for which port of the sandbox, as JSON. Written by the controller.",
  ],
] as const;

function memoryImageFields(): Fields {
  const [version] = memoryImageDefinition.spec.versions;
  const { spec = {}, status = {} } = version?.schema.openAPIV3Schema.properties ?? {};
  return { spec, status };
}

export function fieldsPage(): string {
  return page("Fields of Rouse", [
    "These fields are on `Sandbox.spec` and `SandboxTemplate.spec`, in both API versions. All other fields are those of the ecosystem's API.",
    table(["Field", "Type", "Meaning"], rowsOf(autoFields, "spec.")),
    "## Status",
    "On `Sandbox.status`: `hibernation` only for sandboxes with `suspensionStrategy.type: Hibernate`, or whose type was changed while their memory was kept; the others only for sandboxes with `autoSuspension.inactivityTimeoutSeconds`.",
    table(["Field", "Type", "Meaning"], rowsOf(autoStatusFields, "status.")),
    "## MemoryImage",
    "The group is `hibernation.rouse.dev`, the version `v1alpha1`. The kind is [experimental](../hibernation.md), and not installed by default. No person writes it.",
    table(["Field", "Type", "Meaning"], rowsOf(memoryImageFields(), "")),
    "## Annotations",
    table(
      ["Annotation", "On", "Meaning"],
      annotations.map(([name, kind, meaning]) => [code(name), kind, meaning]),
    ),
  ]);
}
