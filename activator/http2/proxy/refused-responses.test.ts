import { expect, it } from "vitest";
import { ResponseHeadParser } from "../../http1/parse/response-head-parser.ts";
import { refusalOf } from "./refused-responses.ts";

/** The response of a sandbox to a WebSocket over HTTP/2 with the key of RFC 6455, 1.3. */
function refused(wire: string): string | undefined {
  const parser = new ResponseHeadParser();
  parser.expect({ isHead: false, askedUpgrade: true });
  const bytes = Buffer.from(`HTTP/1.1 ${wire}\r\n\r\n`, "latin1");
  expect(parser.push(bytes, 0, bytes.length)).toBe("complete");
  const asked = { upgradeOffer: "websocket" } as Parameters<typeof refusalOf>[1]["head"];
  const refusal = refusalOf(parser.head, { webSocketKey: "dGhlIHNhbXBsZSBub25jZQ==", head: asked });
  return refusal && `${refusal.code}: ${refusal.because}`;
}

const upgrade = "101 Go\r\nConnection: Upgrade\r\nUpgrade: ";
const proof = "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const otherProtocol = "UnaskedUpgrade: the sandbox switched to a protocol that was not asked for";
const noProof = "UnaskedUpgrade: the sandbox answered a WebSocket with a wrong Sec-WebSocket-Accept or with none";

it.each([
  ["a switch with its proof", `${upgrade}websocket${proof}`, undefined],
  ["a switch to another protocol", `${upgrade}tcp${proof}`, otherProtocol],
  ["a switch without a proof", `${upgrade}websocket`, noProof],
  ["a switch with a wrong proof", `${upgrade}websocket${proof.replace("s3p", "S3P")}`, noProof],
  ["success", "200 OK", "ResponseLost: the sandbox answered a WebSocket with the status 200 instead of 101"],
  ["a refusal of its own", "403 No", undefined],
])("%s of a sandbox that is asked for a WebSocket is forwarded, or the log has the cause", (_, wire, expected) => {
  expect(refused(wire)).toBe(expected);
});
