import { createHash } from "node:crypto";

/** What a server of WebSockets proves with that it has read this key (RFC 6455, 4.2.2). Apart from the code under test. */
export const webSocketProof = (key: string): string =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

/** The proof for the key in the head of a request. */
export const webSocketProofFor = (head: string): string =>
  webSocketProof(/^Sec-WebSocket-Key: (.+)\r$/im.exec(head)?.[1] ?? "");
