import { createHash } from "node:crypto";

/** RFC 6455, 1.3. */
const protocolId = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Whether a server has read the key and speaks the protocol of WebSockets (RFC 6455, 4.1). */
export function provesWebSocket(accept: string | undefined, key: string): boolean {
  return accept === createHash("sha1").update(`${key}${protocolId}`).digest("base64");
}
