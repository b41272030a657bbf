import type { GrpcCall } from "../../request.ts";

/** Values of fields by name, in lower case. */
export type ValuesOf = (name: string) => readonly string[];

/**
 * Reads the head of a call of gRPC (gRPC over HTTP/2, "Requests"); undefined if the request is none. For gRPC-Web, see
 * `grpc-web/read-web-call.ts`.
 */
export function readCall(method: string, valuesOf: ValuesOf): GrpcCall | undefined {
  const [type = ""] = valuesOf("content-type");
  if (method !== "POST" || !/^application\/grpc(?:[+;]|$)/i.test(type)) return undefined;
  return { timeoutMs: readTimeoutMs(valuesOf("grpc-timeout")) };
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ["H", 3_600_000],
  ["M", 60_000],
  ["S", 1_000],
  ["m", 1],
  ["u", 1e-3],
  ["n", 1e-6],
]);

/** 1 to 8 digits and a unit (gRPC over HTTP/2, "Timeout"). */
export function readTimeoutMs([text, ...others]: readonly string[]): GrpcCall["timeoutMs"] {
  if (text === undefined) return undefined;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  if (others.length > 0 || digits === undefined) return "malformed";
  return Number(digits) * (unitMs.get(unit) ?? 0);
}

/** The largest number that a timeout may have. */
const digitsMax = 99_999_999;

/** A timeout of a call in the finest unit of 8 digits. It is never more than `ms`. */
export function callTimeout(ms: number): string {
  for (const unit of ["n", "u", "m", "S", "M"]) {
    const value = Math.floor(ms / (unitMs.get(unit) ?? 1));
    if (value <= digitsMax) return `${Math.max(value, 0)}${unit}`;
  }
  return `${Math.min(Math.floor(ms / 3_600_000), digitsMax)}H`;
}
