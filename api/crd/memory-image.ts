import { containerImageLengthMax, containerImagesMax, hibernationGroup } from "../kinds/memory-image.ts";
import { ageColumn, type Definition, type PrinterColumn, singleVersionDefinition } from "./definition.ts";
import type { JsonSchema, ValidationRule } from "./json-schema.ts";
import { bool, described, int32, int64, listMapOf, object, oneOf, text, time } from "./shapes.ts";

const named: JsonSchema = { ...text, minLength: 1, maxLength: 253 };
const uid: JsonSchema = { ...text, minLength: 1, maxLength: 128 };
const milliseconds: JsonSchema = { ...int64, minimum: 0 };
const oneWord: JsonSchema = { ...text, maxLength: 128, pattern: "^[A-Za-z][A-Za-z0-9]*$" };
const sentence: JsonSchema = { ...text, maxLength: 1024 };

const fixed = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  "x-kubernetes-validations": [{ message: "the field is immutable", rule: "self == oldSelf" }],
});

const stage: JsonSchema = {
  ...oneOf("Preflight", "Capture"),
  "x-kubernetes-validations": [
    {
      message: "stage changes only from Preflight to Capture",
      rule: "self == oldSelf || (oldSelf == 'Preflight' && self == 'Capture')",
    },
  ],
};

// The name is also that of a folder on the node, and the value of an annotation.
const nameIsLabel: ValidationRule = {
  message: "metadata.name must be a DNS label of at most 63 characters",
  rule: "size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",
};

const containerImages: JsonSchema = {
  ...listMapOf(
    object({
      "image*": described("Its container image: a repository with a digest, or a digest alone.", {
        ...text,
        minLength: 1,
        maxLength: containerImageLengthMax,
      }),
      "name*": described("The name of the container.", { ...text, minLength: 1, maxLength: 63 }),
    }),
    "name",
  ),
  maxItems: containerImagesMax,
};

const spec = object({
  containerImages: described(
    "What the containers of the captured Pod ran. A Pod that goes on from the memory names these container images, because a tag may have been moved. Written with the stage Capture.",
    fixed(containerImages),
  ),
  "nodeName*": described("The node of the Pod.", fixed(named)),
  "podName*": described("The name of the Pod.", fixed(named)),
  "podUID*": described("The UID of the Pod.", fixed(uid)),
  "runHash*": described(
    "A hash of what the Pod runs. The memory is restored only into a Pod that runs the same.",
    fixed({ ...text, minLength: 1, maxLength: 128 }),
  ),
  "sandboxUID*": described("The UID of the Sandbox.", fixed(uid)),
  "stage*": described(
    "Preflight: the node agent says whether it can capture the Pod. Capture: it captures the Pod.",
    stage,
  ),
  "timeoutSeconds*": described(
    "Maximum time of a capture, in seconds, from when the node agent begins it. A capture that had to wait for others has less time, so that the controller need not wait longer.",
    fixed({ ...int32, minimum: 1, maximum: 60 }),
  ),
});

const preflight = object({
  "capturable*": described("Whether the node agent can capture the Pod now.", bool),
  message: described("Why it cannot, in full.", sentence),
  reason: described("Why it cannot, in one word.", oneWord),
});

const durations = object({
  freezeMs: described("Time to freeze the Pod, in milliseconds.", milliseconds),
  hashMs: described("Time to compute the hash of the files, in milliseconds.", milliseconds),
  syncMs: described("Time until the files were safe on the disk, in milliseconds.", milliseconds),
  writeMs: described("Time to write the memory, in milliseconds.", milliseconds),
});

const restore = object({
  durationMs: described("Duration of the restore, in milliseconds.", milliseconds),
  "outcome*": described(
    "Restored: the processes went on. Failed: gVisor could not restore them. Refused: the shim did not use the memory, because it was missing, incomplete, changed or written by another build of gVisor, or because the Pod would have run something else. In both cases they were started anew.",
    oneOf("Restored", "Failed", "Refused"),
  ),
  "podUID*": described("The UID of the new Pod.", uid),
  reason: described("Why the memory was not restored, in one word.", oneWord),
});

const refused = object({
  message: described("Why it was refused, in full.", sentence),
  "podUID*": described("The UID of the Pod.", uid),
  "reason*": described("Why it was refused, in one word.", oneWord),
});

const status = object({
  bytes: described("Size of the files, in bytes.", { ...int64, minimum: 0 }),
  capturedAt: described("Time at which the memory was captured.", time),
  durations: described("Durations of the parts of the capture.", durations),
  imageHash: described(
    "SHA-256 of the description of the memory image, which has the hashes of all files; in hexadecimal digits.",
    { ...text, pattern: "^[0-9a-f]{64}$" },
  ),
  message: described("The reason of the phase, in full.", sentence),
  phase: described(
    "Capturing: the capture has begun. Captured: the memory is on the disk, and the Pod stays frozen. Failed: there is no memory on the disk; the Pod runs, or was ended. Restored: a new Pod has the memory. Lost: the memory was captured, and is gone.",
    oneOf("Capturing", "Captured", "Failed", "Restored", "Lost"),
  ),
  preflight: described("Whether the Pod can be captured.", preflight),
  reason: described("The reason of the phase, in one word.", oneWord),
  refused: described(
    "The last Pod that asked for this memory and was refused: it had no valid signature of the controller, the memory was gone, or another Pod had used it. It was started anew, and did not touch the memory.",
    refused,
  ),
  restore: described("What became of the memory when a new Pod asked for it.", restore),
  runscVersion: described("The version of gVisor that wrote the files.", { ...text, maxLength: 128 }),
  storeID: described(
    "The store of the node that has the files. If its disk is not mounted, nothing is said about the files.",
    { ...text, maxLength: 64 },
  ),
});

const columns: readonly PrinterColumn[] = [
  { name: "Pod", type: "string", jsonPath: ".spec.podName" },
  { name: "Node", type: "string", jsonPath: ".spec.nodeName" },
  { name: "Phase", type: "string", jsonPath: ".status.phase" },
  { name: "Bytes", type: "integer", jsonPath: ".status.bytes" },
  ageColumn,
  { name: "Reason", type: "string", jsonPath: ".status.reason", priority: 1 },
];

/** Its only version has no other form, so it needs no webhook. */
export const memoryImageDefinition: Definition = singleVersionDefinition({
  group: hibernationGroup,
  version: "v1alpha1",
  kind: "MemoryImage",
  plural: "memoryimages",
  shortName: "memimg",
  description: "The memory of one Pod of a sandbox, captured on the disk of its node.",
  parts: {
    spec: described("What to capture. Written by the controller.", spec),
    status: described("What became of it. Written by the agent of the node.", status),
    columns,
    rules: [nameIsLabel],
    selectableFields: [{ jsonPath: ".spec.nodeName" }],
  },
});
