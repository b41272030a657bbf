import {
  containerIdLengthMax,
  containerImageLengthMax,
  containerImagesMax,
  hibernationGroup,
} from "../kinds/memory-image.ts";
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
      containerID: described(
        "The container has this ID in the container runtime of the node. If another container has replaced this container when the Pod is frozen, the Pod is not captured, because the other container may run another container image.",
        { ...text, minLength: 1, maxLength: containerIdLengthMax },
      ),
      "image*": described("The container ran this container image: a repository with a digest, or a digest alone.", {
        ...text,
        minLength: 1,
        maxLength: containerImageLengthMax,
      }),
      "name*": described("The container has this name.", { ...text, minLength: 1, maxLength: 63 }),
    }),
    "name",
  ),
  maxItems: containerImagesMax,
};

const spec = object({
  containerImages: described(
    "The containers of the captured Pod ran these container images. A Pod that is to be restored names the same container images by digest, because a tag may have been moved. The controller writes the field with the stage Capture.",
    fixed(containerImages),
  ),
  "nodeName*": described("The Pod is on this node.", fixed(named)),
  "podName*": described("The Pod has this name.", fixed(named)),
  "podUID*": described("The Pod has this UID.", fixed(uid)),
  "runHash*": described(
    "The value is a hash of what the Pod runs. The memory is restored only into a Pod with the same hash.",
    fixed({ ...text, minLength: 1, maxLength: 128 }),
  ),
  "sandboxUID*": described("The Sandbox has this UID.", fixed(uid)),
  "stage*": described(
    "With Preflight, the node agent says whether the Pod can be captured. With Capture, the node agent captures the Pod.",
    stage,
  ),
  "timeoutSeconds*": described(
    "A capture may take at most this number of seconds from the moment in which the node agent begins the capture. A capture that had to wait for other captures has less time, so that the controller need not wait longer.",
    fixed({ ...int32, minimum: 1, maximum: 60 }),
  ),
});

const preflight = object({
  "capturable*": described("True means that the node agent can capture the Pod now.", bool),
  message: described("The text says why the Pod cannot be captured.", sentence),
  reason: described("The word says why the Pod cannot be captured.", oneWord),
});

const durations = object({
  freezeMs: described("The freeze of the Pod took this number of milliseconds.", milliseconds),
  hashMs: described("The hashes of the files took this number of milliseconds.", milliseconds),
  syncMs: described("The sync of the files to the disk took this number of milliseconds.", milliseconds),
  writeMs: described("The write of the memory took this number of milliseconds.", milliseconds),
});

const restore = object({
  durationMs: described("The restore took this number of milliseconds.", milliseconds),
  "outcome*": described(
    "Restored means that the processes continued. Failed means that gVisor could not restore the processes. Refused means that the shim did not use the memory, because the memory was missing, incomplete, changed or written by another build of gVisor, or because the Pod would not have run the same as the captured Pod. After Failed and Refused, the processes were started anew.",
    oneOf("Restored", "Failed", "Refused"),
  ),
  "podUID*": described("The new Pod has this UID.", uid),
  reason: described("The word says why the memory was not restored.", oneWord),
});

const refused = object({
  message: described("The text says why the Pod was refused the memory.", sentence),
  "podUID*": described("The Pod has this UID.", uid),
  "reason*": described("The word says why the Pod was refused the memory.", oneWord),
});

const status = object({
  bytes: described("The files have this number of bytes.", { ...int64, minimum: 0 }),
  capturedAt: described("The memory was captured at this time.", time),
  durations: described("The fields have the durations of the parts of the capture.", durations),
  imageHash: described(
    "The value is the SHA-256, in hexadecimal digits, of the description of the memory image. The description has the hashes of all files.",
    { ...text, pattern: "^[0-9a-f]{64}$" },
  ),
  message: described("The text says why the memory image has the phase.", sentence),
  phase: described(
    "Capturing means that the capture has begun. Captured means that the memory is on the disk, and the Pod stays frozen. Failed means that no memory is on the disk; the Pod runs, or was ended. Restored means that a new Pod has the memory. Lost means that the memory was captured, and is gone.",
    oneOf("Capturing", "Captured", "Failed", "Restored", "Lost"),
  ),
  preflight: described("The fields say whether the Pod can be captured.", preflight),
  reason: described("The word says why the memory image has the phase.", oneWord),
  refused: described(
    "The fields name the last Pod that asked for the memory and was refused: the Pod had no valid signature of the controller, the memory was gone, or another Pod had used the memory. The refused Pod was started anew, and did not touch the memory.",
    refused,
  ),
  restore: described("The fields say what became of the memory when a new Pod asked for the memory.", restore),
  runscVersion: described("This version of gVisor wrote the files.", { ...text, maxLength: 128 }),
  storeID: described(
    "The store with this ID has the files. While the disk of that store is not mounted, the node agent reports nothing about the files. If the disk is still missing 10 minutes after the start of the agent, the memory counts as lost, also if the disk comes back later.",
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
  description: "A MemoryImage stands for the memory of one Pod of a sandbox, which is captured on the disk of a node.",
  parts: {
    spec: described("The controller writes here what the node agent must capture.", spec),
    status: described("The node agent writes here what became of the memory.", status),
    columns,
    rules: [nameIsLabel],
    selectableFields: [{ jsonPath: ".spec.nodeName" }],
  },
});
