import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { textBytes, tokenBytes } from "../../http1/parse/byte-classes.ts";
import type { HeaderPair } from "../../request.ts";

/** The fields of one HEADERS frame, names and values in turn, one character per byte. */
export type RawFields = readonly string[];

/** Calls back for each field, after both its parts were checked for bytes that HTTP/1.1 would read as the end of the field. */
export function eachField(fields: RawFields, take: (name: string, value: string) => void): void {
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] ?? "";
    const value = fields[at + 1] ?? "";
    const bare = name.startsWith(":") ? name.slice(1) : name;
    if (bare === "" || !consistsOf(bare, tokenBytes)) throw malformed("field name invalid");
    if (!consistsOf(value, textBytes)) throw malformed("field value invalid");
    take(name, value);
  }
}

/** The first value of that name. A value of another field may read like the name. */
export function fieldValue(fields: RawFields, name: string): string | undefined {
  for (let at = 0; at + 1 < fields.length; at += 2) if (fields[at] === name) return fields[at + 1];
  return undefined;
}

/** All values of that name, in order. */
export function fieldValues(fields: RawFields, name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) if (fields[at] === name) values.push(fields[at + 1] ?? "");
  return values;
}

/** Names and values in turn, as pairs. */
export function* pairsOf(fields: RawFields): Generator<HeaderPair> {
  for (let at = 0; at + 1 < fields.length; at += 2) yield [fields[at] ?? "", fields[at + 1] ?? ""];
}

/** The values by name, as Node takes the fields of trailers and interim responses. */
export function valuesByName(fields: Iterable<HeaderPair>): Record<string, string[]> {
  const values: Record<string, string[]> = Object.create(null);
  for (const [name, value] of fields) values[name] = [...(values[name] ?? []), value];
  return values;
}

/** The length of all names and values, in bytes. */
export function textLength(fields: RawFields): number {
  let length = 0;
  for (const text of fields) length += text.length;
  return length;
}

/** The same of fields in pairs. */
export function pairsLength(fields: Iterable<HeaderPair>): number {
  let length = 0;
  for (const [name, value] of fields) length += name.length + value.length;
  return length;
}

/** Whether each character is a byte of the class. */
export function consistsOf(text: string, bytes: Uint8Array): boolean {
  for (let at = 0; at < text.length; at += 1) if (bytes[text.charCodeAt(at)] !== 1) return false;
  return true;
}

export const lineOf = (name: string, value: string): string => `${name}: ${value}\r\n`;

export const malformed = (because: string): ActivatorError => new ActivatorError("MalformedRequest", { because });
