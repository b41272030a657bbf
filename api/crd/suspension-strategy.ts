// How deep a sandbox sleeps: the field, and what the status tells about it.
import { suspensionStrategyDefaults } from "../rules/defaults.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, int64, object, oneOf, text, time } from "./shapes.ts";

export const suspensionStrategy: JsonSchema = described(
  "What a suspension keeps besides the volumes. Without this field: nothing.",
  object({
    onFailure: described(
      `With type Hibernate: what happens if the memory cannot be kept. Stop: the sandbox is suspended without it. StayAwake: the sandbox is not suspended for inactivity; a manual suspension is carried out without the memory. Default: ${suspensionStrategyDefaults.onFailure}.`,
      oneOf("Stop", "StayAwake"),
    ),
    timeoutSeconds: described(
      `With type Hibernate: maximum time to capture the memory, in seconds. More than 60 counts as 60. Default: ${suspensionStrategyDefaults.timeoutSeconds}.`,
      { ...int32, minimum: 1 },
    ),
    type: described(
      `Stop: a suspension ends the processes, and their memory is lost. Hibernate: it keeps their memory where the node can do that. Experimental: only with --hibernation of the controller, and an agent on the node. Otherwise onFailure says what happens, and the status says why. Default: ${suspensionStrategyDefaults.type}.`,
      oneOf("Stop", "Hibernate"),
    ),
  }),
);

const lastWake = object({
  "mode*": described(
    "Restored: the processes went on with their memory. Anew: they were started anew, without it.",
    oneOf("Restored", "Anew"),
  ),
  durationMilliseconds: described("Duration of the restore, in milliseconds. Only for mode Restored.", int64),
  podUID: described(
    "UID of the Pod that had asked for the memory, or for reason NotRecorded of the Pod that was made without it. Absent otherwise.",
    text,
  ),
  reason: described("Why the processes were started anew, in one word. Only for mode Anew.", text),
});

export const hibernation: JsonSchema = described(
  "What became of the memory. Only for sandboxes with suspensionStrategy.type Hibernate, and for those whose type was changed while their memory was kept.",
  object({
    bytes: described("Size of the captured memory on its node. Only for the states Hibernated and Restoring.", int64),
    capturedAt: described("Time at which the memory was captured. Only for the states Hibernated and Restoring.", time),
    durationMilliseconds: described(
      "Duration of the capture, in milliseconds. Only for the states Hibernated and Restoring.",
      int64,
    ),
    lastWake: described("How the sandbox last woke. Absent until it has woken.", lastWake),
    message: described("Why the memory is not kept, in full. Only for state Stopped.", text),
    node: described("The node that has the memory. Only for the states Hibernated and Restoring.", text),
    reason: described("Why the memory is not kept, in one word. Only for state Stopped.", text),
    state: described(
      "Hibernated: the sandbox is suspended, and its memory is kept. Restoring: a Pod that asks for the memory is on its node, and the node has not told yet what it got. Stopped: it is suspended without its memory. Absent otherwise.",
      oneOf("Hibernated", "Restoring", "Stopped"),
    ),
  }),
);
