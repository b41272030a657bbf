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
    "Handling of this object at its shutdownTime; the Pod and the Service are deleted in any case.",
    withDefault(oneOf("Delete", "Retain"), "Retain"),
  ),
  shutdownTime: described("Time at which the sandbox expires. If absent, it does not expire.", time),
  volumeClaimTemplates: described(
    "A PersistentVolumeClaim for each entry, kept while the sandbox is suspended. Immutable.",
    volumeClaimTemplates,
  ),
};

const sharedStatusFields: Readonly<Record<string, JsonSchema>> = {
  ...autoStatusFields,
  conditions: described("The conditions of the sandbox: Ready, Suspended, PodScheduled, Finished.", conditions),
  podIPs: described("The addresses of its Pod, if it has one.", plainListOf(text)),
  selector: described("The label selector of its Pod.", text),
  service: described("The name of its Service, if it has one.", text),
  serviceFQDN: described("The DNS name of its Service inside the cluster.", text),
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
  description: "A single Pod with a stable name and storage of its own, that can sleep and wake.",
  v1beta1: {
    spec: {
      ...described(
        "The desired state of the sandbox.",
        object({
          ...sharedSpecFields,
          operatingMode: described(
            "Whether the sandbox should be running or suspended. Suspended deletes its Pod and keeps its volumes and its Service.",
            withDefault(oneOf("Running", "Suspended"), "Running"),
          ),
        }),
      ),
      "x-kubernetes-validations": [volumeClaimTemplatesStay],
    },
    status: described(
      "The observed state of the sandbox.",
      object({ ...sharedStatusFields, nodeName: described("The node that its Pod is bound to.", text) }),
    ),
    columns,
    rules: [serviceNameFits],
  },
  v1alpha1: {
    spec: described(
      "The desired state of the sandbox.",
      object({
        ...sharedSpecFields,
        replicas: described("Whether the sandbox should be running (1) or suspended (0).", {
          ...withDefault(int32, 1),
          minimum: 0,
          maximum: 1,
        }),
      }),
    ),
    status: described(
      "The observed state of the sandbox.",
      object({
        ...sharedStatusFields,
        replicas: described("Number of Pods: 0 or 1.", { ...int32, minimum: 0 }),
      }),
    ),
    scale: scaleSubresource,
    rules: [serviceNameFits],
  },
});
