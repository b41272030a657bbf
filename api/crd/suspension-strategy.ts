// How deep a sandbox sleeps: the field, and what the status reports about it.
import { suspensionStrategyDefaults } from "../rules/defaults.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, int64, object, oneOf, text, time } from "./shapes.ts";

export const suspensionStrategy: JsonSchema = described(
  "The fields say what a suspension keeps besides the volumes. Without suspensionStrategy, a suspension keeps nothing else.",
  object({
    onFailure: described(
      `With type Hibernate, the value says what happens if the memory cannot be kept. With Stop, the sandbox is suspended without the memory. With StayAwake, the sandbox is not suspended for inactivity; a manual suspension is carried out without the memory. Default: ${suspensionStrategyDefaults.onFailure}.`,
      oneOf("Stop", "StayAwake"),
    ),
    timeoutSeconds: described(
      `With type Hibernate, the capture of the memory may take at most this number of seconds. More than 60 counts as 60. Default: ${suspensionStrategyDefaults.timeoutSeconds}.`,
      { ...int32, minimum: 1 },
    ),
    type: described(
      `With Stop, a suspension ends the processes, and the memory of the processes is lost. With Hibernate, a suspension keeps the memory if the node can keep the memory. Hibernate is experimental, and needs --hibernation of the controller and a node agent on the node. If the memory cannot be kept, onFailure says what happens, and the status says why. Default: ${suspensionStrategyDefaults.type}.`,
      oneOf("Stop", "Hibernate"),
    ),
  }),
);

const lastWake = object({
  "mode*": described(
    "Restored means that the processes continued with the memory. Anew means that the processes were started anew, without the memory.",
    oneOf("Restored", "Anew"),
  ),
  durationMilliseconds: described(
    "The restore took this number of milliseconds. Only mode Restored has the field.",
    int64,
  ),
  podUID: described(
    "The Pod that had asked for the memory has this UID. With reason NotRecorded, the UID is that of the Pod that was made without the memory. The field is absent otherwise.",
    text,
  ),
  reason: described("The word says why the processes were started anew. Only mode Anew has the field.", text),
});

export const hibernation: JsonSchema = described(
  "The fields say what became of the memory. Only sandboxes with suspensionStrategy.type Hibernate have the field, and sandboxes whose type was changed while the memory was kept.",
  object({
    bytes: described(
      "The captured memory takes this number of bytes on the node. Only the states Hibernated and Restoring have the field.",
      int64,
    ),
    capturedAt: described(
      "The memory was captured at this time. Only the states Hibernated and Restoring have the field.",
      time,
    ),
    durationMilliseconds: described(
      "The capture took this number of milliseconds. Only the states Hibernated and Restoring have the field.",
      int64,
    ),
    lastWake: described(
      "The fields say how the sandbox last woke. The field is absent until the sandbox has woken.",
      lastWake,
    ),
    message: described("The text says why the memory is not kept. Only state Stopped has the field.", text),
    node: described(
      "The node with this name has the memory. Only the states Hibernated and Restoring have the field.",
      text,
    ),
    reason: described("The word says why the memory is not kept. Only state Stopped has the field.", text),
    state: described(
      "Hibernated means that the sandbox is suspended, and the memory is kept. Restoring means that a Pod that asks for the memory is on the node, and the node has not reported yet whether the Pod received the memory. Stopped means that the sandbox is suspended without the memory. The field is absent otherwise.",
      oneOf("Hibernated", "Restoring", "Stopped"),
    ),
  }),
);
