import { stdSerializers } from "pino";

/** Fields whose values are credentials, in whatever case they are written. */
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

/**
 * A copy of what is about to be logged, without the credentials in it at any depth: whole requests, kubeconfigs and
 * errors with a request in them are handed to loggers by mistake. Pino's own redaction would need a path for each depth,
 * and its wildcards cost more than the rest of the line.
 */
export function withoutSecrets(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return copyFields(fields, new Map([[fields, "[circular]"]]));
}

function copyFields(fields: object, seen: Map<object, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    copy[name] = secrets.has(name.toLowerCase()) ? censored : copyValue(value, seen);
  }
  return copy;
}

function copyValue(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value !== "object" || value === null) return value;
  // What says itself how it is written (dates, URLs, buffers) has no fields to look into.
  if ("toJSON" in value) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  // Until it is complete, a way back to it is a circle; afterwards it is only the same thing twice.
  seen.set(value, "[circular]");
  const copy = copyParts(value, seen);
  seen.set(value, copy);
  return copy;
}

function copyParts(value: object, seen: Map<object, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => copyValue(item, seen));
  return copyFields(value instanceof Error ? writtenOut(value) : value, seen);
}

/** An error with its causes inside it, each stack once. */
function writtenOut(error: Error): object {
  const written = stdSerializers.errWithCause(error);
  // Where several were gathered helps nobody: each of them has a stack of its own.
  return error instanceof AggregateError ? { ...written, stack: undefined } : written;
}
