import { isIPv6 } from "node:net";
import { byte, equalsIgnoringCase, hostNameBytes, isDigit } from "./byte-classes.ts";

/** RFC 1035, section 2.3.4: a domain name has at most 255 bytes. */
export const hostBytesMax = 255;
const portMax = 65_535;

/**
 * The end of the host in `host [":" port]`, or -1 if malformed. User information, escapes, an empty host and an empty port are
 * refused: a name with two readings must not decide where a request goes.
 */
export function hostEnd(bytes: Buffer, start: number, end: number): number {
  const at = bytes[start] === byte.openBracket ? literalEnd(bytes, start, end) : nameEnd(bytes, start, end);
  if (at <= start || at - start > hostBytesMax) return -1;
  if (at === end) return at;
  return bytes[at] === byte.colon && portOf(bytes, at, end, -1) >= 0 ? at : -1;
}

function nameEnd(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && hostNameBytes[bytes[at] as number] === 1) at++;
  return at;
}

function literalEnd(bytes: Buffer, start: number, end: number): number {
  const close = bytes.indexOf(byte.closeBracket, start);
  if (close < 0 || close >= end || close - start > hostBytesMax) return -1;
  const text = bytes.toString("latin1", start + 1, close);
  // A zone has a meaning on one machine only, and RFC 6874 spells it differently from all other uses.
  return isIPv6(text) && !text.includes("%") ? close + 1 : -1;
}

/** The port behind the host, which ends at `hostEnd`; `whenAbsent` without a port, -1 if malformed. */
export function portOf(bytes: Buffer, hostEnd: number, end: number, whenAbsent: number): number {
  if (hostEnd === end) return whenAbsent;
  if (hostEnd + 1 === end || end - hostEnd > 6) return -1;
  let port = 0;
  for (let at = hostEnd + 1; at < end; at++) {
    if (!isDigit(bytes[at])) return -1;
    port = port * 10 + (bytes[at] as number) - byte.zero;
  }
  return port <= portMax ? port : -1;
}

/** Whether two valid authorities have the same host and port. */
export function isSameAuthority(
  bytes: Buffer,
  one: readonly [start: number, end: number],
  other: readonly [start: number, end: number],
  defaultPort: number,
): boolean {
  const oneHostEnd = hostEnd(bytes, one[0], one[1]);
  const otherHostEnd = hostEnd(bytes, other[0], other[1]);
  const host = bytes.toString("latin1", other[0], otherHostEnd).toLowerCase();
  return (
    equalsIgnoringCase(bytes, one[0], oneHostEnd, host) &&
    portOf(bytes, oneHostEnd, one[1], defaultPort) === portOf(bytes, otherHostEnd, other[1], defaultPort)
  );
}
