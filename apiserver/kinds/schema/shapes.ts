import type { JsonSchema } from "../../../api/crd/json-schema.ts";
import { described, int64, listMapOf, object, text, time } from "../../../api/crd/shapes.ts";

// Schemas that only the built-in kinds need, beside those of api/crd.

export const base64: JsonSchema = { ...text, format: "byte" };

/** Clients of typed languages write `null` for an unset time. */
export const nullableTime: JsonSchema = { ...time, nullable: true };

/** An object without a schema: nothing in it is pruned or checked. */
export const anything: JsonSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export const conditions: JsonSchema = listMapOf(
  object({
    "type*": described("The type of the condition.", text),
    "status*": described("True, False or Unknown.", text),
    reason: described("The reason for the status in one word, for programs.", text),
    message: described("A description in a sentence.", text),
    lastTransitionTime: described("Time of the last change of the status.", nullableTime),
    lastProbeTime: nullableTime,
    lastHeartbeatTime: nullableTime,
    observedGeneration: described("The generation of the object that the condition was set for.", int64),
  }),
  "type",
);
