import { agentsGroup } from "../kinds/sandbox.ts";
import { autoFields, autoStatusFields } from "./auto-fields.ts";
import { blueprintFields, volumeClaimTemplates } from "./blueprint.ts";
import { conditions } from "./condition.ts";
import {
  ageColumn,
  type Definition,
  definition,
  type PrinterColumn,
  readyColumn,
  reasonColumn,
  scaleSubresource,
} from "./definition.ts";
import type { JsonSchema, ValidationRule } from "./json-schema.ts";
import { described, int32, object, oneOf, plainListOf, text, time, withDefault } from "./shapes.ts";

const volumeClaimTemplatesStay: ValidationRule = {
  message: "volumeClaimTemplates is immutable",
  rule: "has(self.volumeClaimTemplates) == has(oldSelf.volumeClaimTemplates) && (!has(self.volumeClaimTemplates) || self.volumeClaimTemplates == oldSelf.volumeClaimTemplates)",
};

// The Service has the sandbox's name, which must be a DNS label. Older sandboxes with other names are exempt, since
// otherwise not even their status could be written.
const serviceNameFits: ValidationRule = {
  message: "metadata.name must be at most 63 characters when spec.service is true",
  optionalOldSelf: true,
  rule: "!has(self.spec.service) || !self.spec.service || size(self.metadata.name) <= 63 || (oldSelf.hasValue() && has(oldSelf.value().spec.service) && oldSelf.value().spec.service)",
};

const sharedSpecFields: Readonly<Record<string, JsonSchema>> = {
  ...blueprintFields,
  ...autoFields,
  shutdownPolicy: described(
    "The value says what happens to the Sandbox at the shutdownTime. With Delete, the Sandbox is deleted. With Retain, the Sandbox stays. The Pod and the Service are deleted in both cases.",
    withDefault(oneOf("Delete", "Retain"), "Retain"),
  ),
  shutdownTime: described("The sandbox expires at this time. Without a value, the sandbox does not expire.", time),
  volumeClaimTemplates: described(
    "The sandbox gets a PersistentVolumeClaim for each entry, and keeps the PersistentVolumeClaim while the sandbox is suspended. The field is immutable.",
    volumeClaimTemplates,
  ),
};

const sharedStatusFields: Readonly<Record<string, JsonSchema>> = {
  ...autoStatusFields,
  conditions: described(
    "The conditions of the sandbox are Ready, Suspended, PodScheduled, Finished, AutoSuspensionBlocked and ServicePortsAllocated.",
    conditions,
  ),
  podIPs: described(
    "The Pod of the sandbox has these addresses. Without a Pod, the field is absent.",
    plainListOf(text),
  ),
  selector: described("The label selector selects the Pod of the sandbox.", text),
  service: described("The Service of the sandbox has this name. Without a Service, the field is absent.", text),
  serviceFQDN: described("The Service of the sandbox has this DNS name inside the cluster.", text),
};

const columns: readonly PrinterColumn[] = [
  readyColumn,
  reasonColumn,
  ageColumn,
  { name: "Mode", type: "string", jsonPath: ".spec.operatingMode", priority: 1 },
  { name: "Last Activity", type: "date", jsonPath: ".status.lastActivityTime", priority: 1 },
  // Not a date: kubectl prints dates as ages, and this time is in the future.
  { name: "Next Suspension", type: "string", jsonPath: ".status.nextSuspensionTime", priority: 1 },
  { name: "Memory", type: "string", jsonPath: ".status.hibernation.state", priority: 1 },
  { name: "Memory Bytes", type: "integer", jsonPath: ".status.hibernation.bytes", priority: 1 },
];

export const sandboxDefinition: Definition = definition({
  group: agentsGroup,
  kind: "Sandbox",
  plural: "sandboxes",
  shortName: "sandbox",
  description: "A Sandbox is a single Pod with a stable name and storage that stays. A Sandbox can sleep and wake.",
  v1beta1: {
    spec: {
      ...described(
        "The spec says what the sandbox is to be.",
        object({
          ...sharedSpecFields,
          operatingMode: described(
            "With Running, the sandbox is to have a Pod. With Suspended, the Pod is deleted, and the volumes and the Service stay.",
            withDefault(oneOf("Running", "Suspended"), "Running"),
          ),
        }),
      ),
      "x-kubernetes-validations": [volumeClaimTemplatesStay],
    },
    status: described(
      "The controller writes the observed state of the sandbox here.",
      object({ ...sharedStatusFields, nodeName: described("The Pod of the sandbox is bound to this node.", text) }),
    ),
    columns,
    rules: [serviceNameFits],
  },
  v1alpha1: {
    spec: described(
      "The spec says what the sandbox is to be.",
      object({
        ...sharedSpecFields,
        replicas: described("With 1, the sandbox is to have a Pod. With 0, the sandbox is suspended.", {
          ...withDefault(int32, 1),
          minimum: 0,
          maximum: 1,
        }),
      }),
    ),
    status: described(
      "The controller writes the observed state of the sandbox here.",
      object({
        ...sharedStatusFields,
        replicas: described("The sandbox has this number of Pods: 0 or 1.", { ...int32, minimum: 0 }),
      }),
    ),
    scale: scaleSubresource,
    rules: [serviceNameFits],
  },
});
