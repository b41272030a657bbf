import type { KubeObject } from "../../../api/kinds/meta.ts";
import { byCodeUnits } from "../../../lib/data/by-code-units.ts";
import type { Column } from "../../served-kind.ts";
import { ageSince } from "../age.ts";

/** A column's cells get an object of the column's kind. */
type Cell<T extends KubeObject> = (object: T, now: Date) => unknown;

export function column<T extends KubeObject>(name: string, cell: Cell<T>, type = "string"): Column {
  return { name, type, priority: 0, cell: (object, now) => cell(object as T, now) };
}

/** Shown with `-o wide` only. */
export function wideColumn<T extends KubeObject>(name: string, cell: Cell<T>, type = "string"): Column {
  return { ...column(name, cell, type), priority: 1 };
}

export const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name must be unique within a namespace.",
  cell: ({ metadata }) => metadata.name ?? "",
};

export const ageColumn: Column = column("Age", ({ metadata }, now) => ageSince(metadata.creationTimestamp, now));

/** kubectl's text for an absent value. */
export const orNone = (text: string | undefined): string => text || "<none>";

export const keyValues = (labels: Readonly<Record<string, string>> | undefined): string =>
  orNone(
    Object.entries(labels ?? {})
      .sort(([a], [b]) => byCodeUnits(a, b))
      .map(([key, value]) => `${key}=${value}`)
      .join(","),
  );
