import type { RequestHeadParser } from "../parse/request-head-parser.ts";
import type { ClientConnection } from "./client-connection.ts";

/** What every client of HTTP/2 sends first (RFC 9113, 3.4). Servers of HTTP/1.1 refuse it. */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/**
 * All that a client has sent in clear text, as far as it agrees with the preface; undefined if it does not. `bytes`: the current read.
 * Only refused heads are looked at, so that other requests do not pay for it. The rest of the preface is for the parser of HTTP/2.
 */
export function wholePreface(
  { head, refusal }: RequestHeadParser,
  { socket, origin }: Pick<ClientConnection, "socket" | "origin">,
  bytes: Buffer,
): Buffer | undefined {
  const before = socket.bytesRead - origin.headerBytes - bytes.length;
  const mayBePreface = refusal === "TargetInvalid" && head.method === "PRI" && before <= preface.length;
  if (!mayBePreface || "encrypted" in socket) return undefined;
  const compared = Math.min(bytes.length, preface.length - before);
  if (bytes.compare(preface, before, before + compared, 0, compared) !== 0) return undefined;
  return Buffer.concat([preface.subarray(0, before), bytes]);
}
