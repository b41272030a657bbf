import { byte, isDigit } from "./byte-classes.ts";
import type { Refusal } from "./refusals.ts";

const prefix = "HTTP/";
const one = byte.zero + 1;

export const versionLength = 8;

/**
 * The minor version of `HTTP/1.0` or `HTTP/1.1`, or "more" while the bytes up to `end` may become one. A higher minor version
 * could be answered as 1.1 (RFC 9110 2.5), but no client sends one, and servers behind us may read it differently.
 */
export function readVersion(bytes: Buffer, at: number, end: number): 0 | 1 | "more" | Refusal {
  const length = Math.min(end - at, versionLength);
  for (let i = 0; i < length; i++) if (!fits(i, bytes[at + i])) return "VersionInvalid";
  if (length < versionLength) return "more";
  if (bytes[at + 5] !== one) return "VersionUnsupported";
  if (bytes[at + 7] === byte.zero) return 0;
  return bytes[at + 7] === one ? 1 : "VersionUnsupported";
}

function fits(position: number, code: number | undefined): boolean {
  if (position < prefix.length) return code === prefix.charCodeAt(position);
  return position === 6 ? code === byte.dot : isDigit(code);
}
