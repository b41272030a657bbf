import type { JsonSchema } from "../../../../api/crd/json-schema.ts";
import { bool, described, int64, listOf, mapOf, object, text } from "../../../../api/crd/shapes.ts";
import { anything, nullableTime } from "../schema/shapes.ts";

// Nothing is required here: the server has words of its own for what an owner lacks.
const ownerReference = object({
  apiVersion: described("API version of the owner.", text),
  kind: described("Kind of the owner.", text),
  name: described("Name of the owner.", text),
  uid: described("UID of the owner.", text),
  controller: described("Whether the owner is the one that manages the object.", bool),
  blockOwnerDeletion: described("Whether foreground deletion of the owner waits for this object.", bool),
});

/** `metadata` of every kind; `explain` shows it, and what stands in no other field is dropped. */
export const objectMetaSchema: JsonSchema = described(
  "Standard object metadata.",
  object({
    name: described("Name, unique within a namespace; cannot be changed.", text),
    generateName: described("Prefix from which the server makes a unique name when there is no name.", text),
    namespace: described("The space within which the name is unique; cannot be changed.", text),
    selfLink: described("No longer set.", text),
    uid: described("Unique in time and space; set by the server.", text),
    resourceVersion: described("Opaque version of the object; changes with every write.", text),
    generation: described("Number of the desired state; changes when the spec does.", int64),
    creationTimestamp: described("When the object was created; set by the server.", nullableTime),
    deletionTimestamp: described("When the object is to be gone; set by a graceful deletion.", nullableTime),
    deletionGracePeriodSeconds: described("Seconds that the object is given to end well.", int64),
    labels: described("Keys and values by which objects are selected.", mapOf(text)),
    annotations: described("Keys and values that tools keep with the object.", mapOf(text)),
    ownerReferences: described("The objects that this one depends on.", listOf(ownerReference)),
    finalizers: described("What must be done, and taken from this list, before the object goes.", listOf(text)),
    managedFields: described("Who set which fields.", listOf(anything)),
  }),
);

/** The root of a kind: `apiVersion`, `kind`, `metadata` and what the kind adds. */
export function kindSchema(description: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return described(
    description,
    object({
      apiVersion: described("The version of the schema that the object is written in.", text),
      kind: described("What the object is.", text),
      metadata: objectMetaSchema,
      ...properties,
    }),
  );
}
