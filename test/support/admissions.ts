import type { KubeObject, StatusCause } from "../../api/kinds/meta.ts";
import type { Admission, ServedKind } from "../../apiserver/served-kind.ts";

/** The time for tests in which the time does not matter. */
export const testNow = new Date("2026-01-02T03:04:05Z");

const creation: Admission = { operation: "create", subresource: undefined, old: undefined, now: testNow };

const updateOf = (old: KubeObject): Admission => ({ operation: "update", subresource: undefined, old, now: testNow });

/** The object as a server would store it after a create. */
export function prepared<T extends KubeObject>(kind: ServedKind, object: KubeObject): T {
  return kind.prepare(object, creation).object as T;
}

/** The validation errors of a create, as `kubectl` prints them. */
export function createComplaints(kind: ServedKind, object: KubeObject): readonly string[] {
  return kind.validate(prepared(kind, object), creation).map(complaint);
}

/** The validation errors of an update from `old` to `next`; both get their defaults first. */
export function updateComplaints(kind: ServedKind, old: KubeObject, next: KubeObject): readonly string[] {
  const admission = updateOf(prepared(kind, old));
  return kind.validate(kind.prepare(next, admission).object, admission).map(complaint);
}

/** The cells of an object's row by the names of their columns. */
export function cellsOf(kind: ServedKind, object: KubeObject): Readonly<Record<string, unknown>> {
  return Object.fromEntries(kind.columns.map(({ name, cell }) => [name, cell(object, testNow)]));
}

const complaint = ({ field, message }: StatusCause): string => `${field}: ${message}`;
