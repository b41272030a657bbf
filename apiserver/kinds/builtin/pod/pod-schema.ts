import type { JsonSchema } from "../../../../api/crd/json-schema.ts";
import { podSpec } from "../../../../api/crd/pod-spec.ts";
import { bool, described, int32, int64, listMapOf, listOf, object, text } from "../../../../api/crd/shapes.ts";
import { kindSchema } from "../../metadata/schema.ts";
import { anything, conditions, nullableTime } from "../../schema/shapes.ts";

const containerState = object({
  waiting: object({ reason: text, message: text }),
  running: object({ startedAt: nullableTime }),
  terminated: object({
    "exitCode*": int32,
    signal: int32,
    reason: text,
    message: text,
    startedAt: nullableTime,
    finishedAt: nullableTime,
    containerID: text,
  }),
});

const containerStatus = object({
  "name*": text,
  "ready*": described("Whether the container passes its readiness probe.", bool),
  "restartCount*": described("Number of restarts.", int32),
  "image*": text,
  "imageID*": text,
  containerID: text,
  started: described("Whether it has passed its startup probe.", bool),
  state: described("The current state.", containerState),
  lastState: described("How its last run ended.", containerState),
  allocatedResources: anything,
  resources: anything,
  volumeMounts: listMapOf(anything, "mountPath"),
  user: anything,
  allocatedResourcesStatus: listOf(anything),
  stopSignal: text,
});

const status: JsonSchema = object({
  phase: described("Pending, Running, Succeeded, Failed or Unknown.", text),
  conditions,
  message: described("The reason for this state, in a sentence.", text),
  reason: described("The reason for this state in one word, such as Evicted.", text),
  nominatedNodeName: text,
  hostIP: text,
  hostIPs: listOf(object({ "ip*": text })),
  podIP: described("The address of the Pod.", text),
  podIPs: listMapOf(object({ "ip*": text }), "ip"),
  startTime: nullableTime,
  initContainerStatuses: listOf(containerStatus),
  containerStatuses: listOf(containerStatus),
  ephemeralContainerStatuses: listOf(containerStatus),
  qosClass: text,
  resize: text,
  resourceClaimStatuses: listMapOf(anything, "name"),
  extendedResourceClaimStatus: anything,
  allocatedResources: anything,
  resources: anything,
  observedGeneration: int64,
});

export const podSchema: JsonSchema = kindSchema("Pod is a set of containers that run together on one node.", {
  spec: described("The desired state of the Pod.", podSpec),
  status: described("The observed state; may lag.", status),
});
