import type { KubeObject } from "../../api/kinds/meta.ts";
import { sameJson } from "../json-values.ts";
import type { ServedKind } from "../served-kind.ts";

// The built-in kinds that count generations; most of the others do not.
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

/** Whether objects of this kind have `metadata.generation`: all custom ones do. */
export function countsGenerations(kind: ServedKind): boolean {
  return !kind.strategicMerge || builtInsWithGeneration.has(kind.type.kind);
}

/** Whether an update changes the desired state: neither metadata nor a separate status count. */
export function asksForMore(kind: ServedKind, current: KubeObject, next: KubeObject): boolean {
  return !sameJson(desired(kind, current), desired(kind, next));
}

function desired(kind: ServedKind, object: KubeObject): object {
  const { metadata: _metadata, ...rest } = object;
  if (!kind.hasStatus) return rest;
  const { status: _status, ...spec } = rest as { readonly status?: unknown };
  return spec;
}
