import type { KubeObject } from "../../api/meta.ts";
import { sameJson } from "./json-values.ts";
import type { ServedKind } from "./served-kind.ts";

// Of the built-in kinds these count generations; most of the others never had one.
const builtInsWithGeneration: ReadonlySet<string> = new Set([
  "Pod",
  "NetworkPolicy",
  "EndpointSlice",
  "Deployment",
  "ReplicaSet",
  "StatefulSet",
  "PodDisruptionBudget",
  "CustomResourceDefinition",
]);

/** Whether objects of this kind carry `metadata.generation`: all custom ones do. */
export function countsGenerations(kind: ServedKind): boolean {
  return !kind.strategicMerge || builtInsWithGeneration.has(kind.type.kind);
}

/** Whether an update asks for something else than before: neither metadata nor a separate status count. */
export function asksForMore(kind: ServedKind, current: KubeObject, next: KubeObject): boolean {
  return !sameJson(desired(kind, current), desired(kind, next));
}

function desired(kind: ServedKind, object: KubeObject): object {
  const { metadata: _metadata, ...rest } = object;
  if (!kind.hasStatus) return rest;
  const { status: _status, ...spec } = rest as { readonly status?: unknown };
  return spec;
}
