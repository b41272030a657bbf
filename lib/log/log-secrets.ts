import { stdSerializers } from "pino";
import { setField } from "../data/own-fields.ts";

/** Fields with credentials, in any case of letters. */
export const secretNames = [
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "token",
  "password",
  "keydata",
  "client-key-data",
] as const;

export const censored = "[redacted]";

const secrets: ReadonlySet<string> = new Set(secretNames);

// An error of a server may quote a whole object, which is too long for a log line.
const textMax = 4_096;
const itemsMax = 100;

/**
 * A copy of the fields of a log line without credentials, at any depth: whole requests, kubeconfigs and errors with a
 * request are passed to loggers by mistake. Pino's own redaction would need a path for each depth, and its wildcards
 * cost more than the rest of the line. Long texts and lists are truncated.
 */
export function withoutSecrets(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return copyFields(fields, new Map([[fields, "[circular]"]]));
}

function copyFields(fields: object, seen: Map<object, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    setField(copy, name, secrets.has(name.toLowerCase()) ? censored : copyValue(value, seen));
  }
  return copy;
}

function copyValue(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value === "string") return cut(value);
  if (typeof value !== "object" || value === null) return value;
  // Values with toJSON (dates, URLs, buffers) have no fields to redact.
  if ("toJSON" in value) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  // Until the copy is complete, a reference to it is circular; afterwards it is a repetition.
  seen.set(value, "[circular]");
  const copy = copyParts(value, seen);
  seen.set(value, copy);
  return copy;
}

const cut = (text: string): string =>
  text.length <= textMax ? text : `${text.slice(0, textMax)}... (${text.length} characters)`;

function copyParts(value: object, seen: Map<object, unknown>): unknown {
  if (Array.isArray(value)) {
    const left = value.length - itemsMax;
    return [
      ...value.slice(0, itemsMax).map((item) => copyValue(item, seen)),
      ...(left > 0 ? [`... and ${left} more`] : []),
    ];
  }
  return copyFields(value instanceof Error ? writtenOut(value) : value, seen);
}

/** An error with its causes, each stack once. */
function writtenOut(error: Error): object {
  const written = stdSerializers.errWithCause(error);
  // The stack of an AggregateError is of no use: its errors have their own.
  return error instanceof AggregateError ? { ...written, stack: undefined } : written;
}
