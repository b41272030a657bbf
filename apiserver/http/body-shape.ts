import { type JsonSize, measureJson, measureValue } from "../../lib/data/json-parts.ts";
import { nestingMax } from "../json-values.ts";
import { bodyTooLarge, tooDeep } from "../status-errors.ts";

/**
 * The values of one body, and of what a patch makes. The work on an object takes hundreds of bytes for each of its values, and 1.5 MiB of
 * JSON can have 500,000 of them. Definitions of kinds are the densest of honest objects, with some 20 bytes for each value: these
 * have fewer than 80,000.
 */
export const valuesMax = 200_000;

/** A body has at most 3 MiB, and an object that is stored half of that. */
const charactersMax = 4 * 1_024 * 1_024;

/**
 * Checks a JSON text before it is parsed.
 *
 * @throws StatusError 413 for too many values or characters, 400 for too many levels.
 */
export function refuseLargeText(text: Uint8Array): void {
  refuseLarger(measureJson(text));
}

/** Checks a value of another format in the same way, and returns it. */
export function refuseLargeValue<T>(value: T): T {
  refuseLarger(measureValue(value, valuesMax));
  return value;
}

/** The same for the result of a patch. An object that is too large already may stay as large. */
export function refuseGrownValue<T>(value: T, before: unknown): T {
  const size = measureValue(value, valuesMax);
  if (size.parts <= valuesMax && size.nesting <= nestingMax && size.characters <= charactersMax) return value;
  const old = measureValue(before, Number.POSITIVE_INFINITY);
  refuseLarger(measureValue(value, Math.max(valuesMax, old.parts)), old);
  return value;
}

function refuseLarger(size: JsonSize, old: JsonSize = { parts: 0, nesting: 0, characters: 0 }): void {
  if (size.parts > Math.max(valuesMax, old.parts)) throw bodyTooLarge(`${valuesMax} values`);
  if (size.characters > Math.max(charactersMax, old.characters)) throw bodyTooLarge(`${charactersMax} characters`);
  if (size.nesting > Math.max(nestingMax, old.nesting)) throw tooDeep(nestingMax);
}
