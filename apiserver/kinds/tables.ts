import type { KubeObject } from "../../api/kinds/meta.ts";
import type { Column, ServedKind } from "../served-kind.ts";

/** The part of its object in each row, as requested by `?includeObject=`. */
export type IncludeObject = "None" | "Metadata" | "Object";

/** Unknown values count as absent: the metadata is included. */
export function includeObjectOf(asked: string | null): IncludeObject {
  return asked === "None" || asked === "Object" ? asked : "Metadata";
}

export interface TableOptions {
  readonly includeObject: IncludeObject;
  /** For ages. */
  readonly now: Date;
  /** Of a list. A single object has its own version. */
  readonly metadata?: TableMetadata;
}

/** `ListMeta`. */
interface TableMetadata {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

interface Row {
  readonly cells: readonly unknown[];
  readonly object?: object;
}

/** `meta.k8s.io/v1` Table: what `kubectl get` prints. */
export interface Table {
  readonly kind: "Table";
  readonly apiVersion: "meta.k8s.io/v1";
  readonly metadata: TableMetadata;
  readonly columnDefinitions: readonly Omit<Column, "cell">[];
  readonly rows: readonly Row[];
}

/** The table of a list, of one object, or of the object of a watch event (a table of one row). */
export function tableOf(kind: ServedKind, objects: readonly KubeObject[], options: TableOptions): Table {
  const resourceVersion = objects[0]?.metadata.resourceVersion;
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: options.metadata ?? (resourceVersion === undefined ? {} : { resourceVersion }),
    columnDefinitions: kind.columns.map(definitionOf),
    rows: objects.map((object) => rowOf(kind, object, options)),
  };
}

function definitionOf({ cell: _cell, ...column }: Column): Omit<Column, "cell"> {
  return {
    ...column,
    format: column.format ?? "",
    description: column.description ?? "",
    priority: column.priority ?? 0,
  };
}

function rowOf(kind: ServedKind, object: KubeObject, { includeObject, now }: TableOptions): Row {
  const cells = kind.columns.map(({ cell }) => cell(object, now) ?? null);
  if (includeObject === "None") return { cells };
  if (includeObject === "Object") return { cells, object };
  const { metadata } = object;
  return { cells, object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata } };
}
