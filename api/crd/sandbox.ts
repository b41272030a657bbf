import { agentsGroup } from "../sandbox.ts";
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

// The Service is called like the sandbox, and its name is a DNS label. A sandbox that asked for one before this rule
// existed is left alone, or not even its status could be written any more.
const serviceNameFits: ValidationRule = {
  message: "metadata.name must be at most 63 characters when spec.service is true",
  optionalOldSelf: true,
  rule: "!has(self.spec.service) || !self.spec.service || size(self.metadata.name) <= 63 || (oldSelf.hasValue() && has(oldSelf.value().spec.service) && oldSelf.value().spec.service)",
};

const sharedSpecFields: Readonly<Record<string, JsonSchema>> = {
  ...blueprintFields,
  ...autoFields,
  shutdownPolicy: described(
    "What becomes of this object at its shutdownTime; the Pod and the Service go either way.",
    withDefault(oneOf("Delete", "Retain"), "Retain"),
  ),
  shutdownTime: described("When the sandbox expires. Without it, it never does.", time),
  volumeClaimTemplates: described(
    "A PersistentVolumeClaim for each entry, kept while the sandbox sleeps. It cannot be changed later.",
    volumeClaimTemplates,
  ),
};

const sharedStatusFields: Readonly<Record<string, JsonSchema>> = {
  ...autoStatusFields,
  conditions: described("What is known about the sandbox: Ready, Suspended, PodScheduled, Finished.", conditions),
  podIPs: described("The addresses of its Pod, while it has one.", plainListOf(text)),
  selector: described("The label selector that finds its Pod.", text),
  service: described("The name of its Service, while it has one.", text),
  serviceFQDN: described("The DNS name of its Service inside the cluster.", text),
};

const columns: readonly PrinterColumn[] = [
  readyColumn,
  reasonColumn,
  ageColumn,
  { name: "Mode", type: "string", jsonPath: ".spec.operatingMode", priority: 1 },
  { name: "Last Activity", type: "date", jsonPath: ".status.lastActivityTime", priority: 1 },
  // Not a date: those are printed as ages, and this one lies ahead.
  { name: "Next Suspension", type: "string", jsonPath: ".status.nextSuspensionTime", priority: 1 },
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
        "What the sandbox is made of and how it should be.",
        object({
          ...sharedSpecFields,
          operatingMode: described(
            "Whether the sandbox should run or sleep. Suspended removes its Pod and keeps its volumes and its Service.",
            withDefault(oneOf("Running", "Suspended"), "Running"),
          ),
        }),
      ),
      "x-kubernetes-validations": [volumeClaimTemplatesStay],
    },
    status: described(
      "What was last seen of the sandbox.",
      object({ ...sharedStatusFields, nodeName: described("The node that its Pod is bound to.", text) }),
    ),
    columns,
    rules: [serviceNameFits],
  },
  v1alpha1: {
    spec: described(
      "What the sandbox is made of and how it should be.",
      object({
        ...sharedSpecFields,
        replicas: described("Whether the sandbox should run (1) or sleep (0).", {
          ...withDefault(int32, 1),
          minimum: 0,
          maximum: 1,
        }),
      }),
    ),
    status: described(
      "What was last seen of the sandbox.",
      object({
        ...sharedStatusFields,
        replicas: described("How many Pods there are: one or none.", { ...int32, minimum: 0 }),
      }),
    ),
    scale: scaleSubresource,
    rules: [serviceNameFits],
  },
});
