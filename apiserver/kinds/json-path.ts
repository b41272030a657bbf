import { ownField } from "../../lib/data/own-fields.ts";
import { isJsonObject } from "../json-values.ts";

/** The first value at a path in an object. */
export type JsonPath = (object: unknown) => unknown;

type Step = (value: unknown) => unknown;

const stepPattern = /\.([A-Za-z0-9_-]+)|\['([^']+)'\]|\[(\d+)\]|\[\?\(@\.([A-Za-z0-9_-]+)==["']([^"']*)["']\)\]/y;

/**
 * Compiles the paths of printer columns and subresources: `.spec.replicas`, `.items[0]`, `.labels['a/b']` and
 * `.status.conditions[?(@.type=='Ready')].status`.
 *
 * @throws Error for anything else, when the definition is read and not when a table is printed.
 */
export function compileJsonPath(path: string): JsonPath {
  const steps: Step[] = [];
  stepPattern.lastIndex = 0;
  while (stepPattern.lastIndex < path.length) {
    const match = stepPattern.exec(path);
    if (!match) throw new Error(`cannot read the JSON path ${path}`);
    steps.push(stepOf(match));
  }
  return (object) => steps.reduce((value, step) => step(value), object);
}

function stepOf([, field, quoted, index, key, wanted]: RegExpExecArray): Step {
  if (index !== undefined) return (value) => (Array.isArray(value) ? value[Number(index)] : undefined);
  if (key !== undefined)
    return (value) =>
      Array.isArray(value) ? value.find((item) => isJsonObject(item) && ownField(item, key) === wanted) : undefined;
  const name = field ?? quoted ?? "";
  return (value) => (isJsonObject(value) ? ownField(value, name) : undefined);
}
