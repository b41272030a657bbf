import { atomicObject, listOf, mapOf, object, text } from "./shapes.ts";

/** One requirement of a label, field or node selector. */
export const requirement = object({ "key*": text, "operator*": text, values: listOf(text) });

export const labelSelector = atomicObject({ matchExpressions: listOf(requirement), matchLabels: mapOf(text) });
