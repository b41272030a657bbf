import { hostEnd, isSameAuthority, portOf } from "./authority.ts";
import { byte, equalsIgnoringCase } from "./byte-classes.ts";
import type { Refusal } from "./refusals.ts";
import type { RequestHead } from "./request-head.ts";

const schemes = [
  { prefix: "http://", port: 80 },
  { prefix: "https://", port: 443 },
] as const;

/** Decides the form of the target between `targetStart` and `targetEnd` (RFC 9112 3.2). */
export function readTarget(head: RequestHead): Refusal | undefined {
  const { bytes, targetStart, targetEnd } = head;
  if (head.method === "CONNECT") return readAuthorityForm(head);
  if (bytes[targetStart] === byte.slash) {
    head.form = "origin";
    return undefined;
  }
  if (bytes[targetStart] === byte.asterisk && targetEnd - targetStart === 1) {
    head.form = "asterisk";
    return head.method === "OPTIONS" ? undefined : "TargetInvalid";
  }
  return readAbsoluteForm(head);
}

function readAuthorityForm(head: RequestHead): Refusal | undefined {
  const { bytes, targetStart, targetEnd } = head;
  const end = hostEnd(bytes, targetStart, targetEnd);
  if (end < 0 || end === targetEnd) return "TargetInvalid";
  head.form = "authority";
  head.authorityStart = targetStart;
  head.authorityEnd = targetEnd;
  return undefined;
}

function readAbsoluteForm(head: RequestHead): Refusal | undefined {
  const { bytes, targetStart, targetEnd } = head;
  const scheme = schemeOf(head);
  if (!scheme) return "TargetInvalid";
  const start = targetStart + scheme.prefix.length;
  let end = start;
  while (end < targetEnd && bytes[end] !== byte.slash && bytes[end] !== byte.question) end++;
  if (hostEnd(bytes, start, end) < 0) return "TargetInvalid";
  head.form = "absolute";
  head.authorityStart = start;
  head.authorityEnd = end;
  return undefined;
}

function schemeOf({ bytes, targetStart, targetEnd }: RequestHead) {
  return schemes.find(({ prefix }) => {
    const end = targetStart + prefix.length;
    return end < targetEnd && equalsIgnoringCase(bytes, targetStart, end, prefix);
  });
}

/**
 * Exactly one valid Host in HTTP/1.1, at most one in HTTP/1.0 (RFC 9112 3.2). An authority in the target must name the same
 * host: a proxy must use the target (RFC 9112 3.2.2), and servers behind proxies often use Host, so a request with two hosts is
 * refused.
 */
export function judgeHost(head: RequestHead): Refusal | undefined {
  const { bytes, facts } = head;
  if (facts.host < 0) return head.minorVersion === 0 ? undefined : "HostMissing";
  const start = head.mark(facts.host, 2);
  const end = head.mark(facts.host, 3);
  if (hostEnd(bytes, start, end) < 0) return "HostInvalid";
  if (head.form !== "absolute" && head.form !== "authority") return undefined;
  const target = [head.authorityStart, head.authorityEnd] as const;
  return isSameAuthority(bytes, target, [start, end], defaultPort(head)) ? undefined : "HostDisagrees";
}

/** The port that an absent port stands for. CONNECT always names its port, and no default replaces the one in Host. */
function defaultPort(head: RequestHead): number {
  if (head.form === "absolute") return schemeOf(head)?.port ?? -1;
  const { bytes, authorityStart, authorityEnd } = head;
  return portOf(bytes, hostEnd(bytes, authorityStart, authorityEnd), authorityEnd, -1);
}
