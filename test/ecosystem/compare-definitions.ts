// Compares our definitions of the kinds with the published ones of the existing controller, field by field.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** Our intended additions, by the last part of the path. */
const intended: readonly string[] = [
  "autoResume",
  "autoSuspension",
  "lastActivityTime",
  "nextSuspensionTime",
  "suspensionStrategy",
  "hibernation",
  "Mode",
  "Last Activity",
  "Next Suspension",
  "Memory",
  // Of Kubernetes 1.37.
  "bindMountOptions",
  "evictionResponders",
];
/** The rule on the length of names, and the generator's annotations of the published definitions. */
const intendedPaths = /^\/metadata\/annotations$|\/openAPIV3Schema\/x-kubernetes-validations$/;

/** The unintended differences, each as `file: path`. */
export function compareDefinitions(ours: string, published: string): readonly string[] {
  return readdirSync(published).flatMap((file) => {
    const read = (folder: string): unknown => parse(readFileSync(join(folder, file), "utf8"));
    return differences("", read(published), read(ours))
      .filter((path) => !intendedPaths.test(path) && !intended.includes(path.slice(path.lastIndexOf("/") + 1)))
      .map((path) => `${file}: ${path}`);
  });
}

/** The differences in meaning between two documents. Descriptions are ignored. */
export function differences(path: string, one: unknown, other: unknown): readonly string[] {
  const left = fieldsOf(one);
  const right = fieldsOf(other);
  if (!left || !right) return JSON.stringify(one) === JSON.stringify(other) ? [] : [path];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  const describes = (name: string) => name === "description" && typeof (left[name] ?? right[name]) === "string";
  return [...names]
    .filter((name) => !describes(name))
    .flatMap((name) => differences(`${path}/${name}`, left[name], right[name]));
}

/** The fields of an object, or the named items of a list. */
function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
  const named = value.filter((item): item is { readonly name: string } => typeof item?.name === "string");
  return named.length === value.length && named.length > 0
    ? Object.fromEntries(named.map((item) => [item.name, item]))
    : undefined;
}
