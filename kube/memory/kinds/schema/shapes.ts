import type { JsonSchema } from "../../../../api/crd/json-schema.ts";
import { described, int64, listMapOf, object, text, time } from "../../../../api/crd/shapes.ts";

// Words that only the built-in kinds need beside those of api/crd.

export const base64: JsonSchema = { ...text, format: "byte" };

/** Clients of typed languages write `null` for a time that is not set. */
export const nullableTime: JsonSchema = { ...time, nullable: true };

/** An object whose fields are somebody else's business: nothing in it is dropped or checked. */
export const anything: JsonSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export const conditions: JsonSchema = listMapOf(
  object({
    "type*": described("The aspect that the condition is about.", text),
    "status*": described("True, False or Unknown.", text),
    reason: described("One word for programs: why the condition has this status.", text),
    message: described("A sentence for people.", text),
    lastTransitionTime: described("When the status last changed.", nullableTime),
    lastProbeTime: nullableTime,
    lastHeartbeatTime: nullableTime,
    observedGeneration: described("The generation of the object that the condition speaks of.", int64),
  }),
  "type",
);
