import type { JsonSchema } from "../../../api/crd/json-schema.ts";
import { bool, described, int64, listOf, mapOf, object, text } from "../../../api/crd/shapes.ts";
import { anything, nullableTime } from "../schema/shapes.ts";

// No field is required here: the server has its own messages for a missing one.
const ownerReference = object({
  apiVersion: described("API version of the owner.", text),
  kind: described("Kind of the owner.", text),
  name: described("Name of the owner.", text),
  uid: described("UID of the owner.", text),
  controller: described("Whether the owner is the managing controller.", bool),
  blockOwnerDeletion: described("Whether foreground deletion of the owner waits for this object.", bool),
});

/** `metadata` of every kind, also for `explain`. Fields that are not listed are pruned. */
export const objectMetaSchema: JsonSchema = described(
  "Standard object metadata.",
  object({
    name: described("Name, unique within a namespace; cannot be changed.", text),
    generateName: described("Prefix of the unique name that the server generates if name is absent.", text),
    namespace: described("The namespace of the object; cannot be changed.", text),
    selfLink: described("Deprecated; no longer set.", text),
    uid: described("Unique in time and space; set by the server.", text),
    resourceVersion: described("Opaque version of the object; changes with every write.", text),
    generation: described("Number of the desired state; changes when the spec does.", int64),
    creationTimestamp: described("Time of creation; set by the server.", nullableTime),
    deletionTimestamp: described("Time at which the object will be removed; set by a graceful deletion.", nullableTime),
    deletionGracePeriodSeconds: described("Seconds for a graceful termination of the object.", int64),
    labels: described("Keys and values by which objects are selected.", mapOf(text)),
    annotations: described("Keys and values that tools keep with the object.", mapOf(text)),
    ownerReferences: described("The objects that this one depends on.", listOf(ownerReference)),
    finalizers: described(
      "Tasks to complete, and to remove from this list, before the object is removed.",
      listOf(text),
    ),
    managedFields: described("The fields that each client has set.", listOf(anything)),
  }),
);

/** The root of a kind: `apiVersion`, `kind`, `metadata` and what the kind adds. */
export function kindSchema(description: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return described(
    description,
    object({
      apiVersion: described("The version of the object's schema.", text),
      kind: described("The kind of the object.", text),
      metadata: objectMetaSchema,
      ...properties,
    }),
  );
}
