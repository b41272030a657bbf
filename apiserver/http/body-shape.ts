import { measureJson, measureValue } from "../../lib/data/json-parts.ts";
import { nestingMax } from "../json-values.ts";
import { tooDeep, tooManyValues } from "../status-errors.ts";

/**
 * The values of one body, and of what a patch makes. The work on an object takes hundreds of bytes for each of its values, and 1.5 MiB of
 * JSON can have 500,000 of them. Definitions of kinds are the densest of honest objects, with some 20 bytes for each value: these
 * have fewer than 80,000.
 */
export const valuesMax = 200_000;

/**
 * Checks a JSON text before it is parsed.
 *
 * @throws StatusError 413 for too many values, 400 for too many levels.
 */
export function refuseLargeText(text: Uint8Array): void {
  const { parts, nesting } = measureJson(text);
  if (parts > valuesMax) throw tooManyValues(valuesMax);
  if (nesting > nestingMax) throw tooDeep(nestingMax);
}

/** Checks a value of another format in the same way, and returns it. */
export function refuseLargeValue<T>(value: T): T {
  const { parts, nesting } = measureValue(value, valuesMax);
  if (parts > valuesMax) throw tooManyValues(valuesMax);
  if (nesting > nestingMax) throw tooDeep(nestingMax);
  return value;
}

/** The same for the result of a patch. An object that is too large already may stay as large. */
export function refuseGrownValue<T>(value: T, before: unknown): T {
  const { parts, nesting } = measureValue(value, Number.POSITIVE_INFINITY);
  if (parts <= valuesMax && nesting <= nestingMax) return value;
  const old = measureValue(before, Number.POSITIVE_INFINITY);
  if (parts > Math.max(valuesMax, old.parts)) throw tooManyValues(valuesMax);
  if (nesting > Math.max(nestingMax, old.nesting)) throw tooDeep(nestingMax);
  return value;
}
