import type { Framing, ParseHead } from "./speech.ts";

export const messageHeadBytes = 5;

/** The messages of a call of gRPC: a flag that says that they are not compressed, and a length. */
export const messageFraming: Framing = {
  head(_index, bytes) {
    const head = Buffer.alloc(messageHeadBytes);
    head.writeUInt32BE(bytes, 1);
    return head;
  },
  close: Buffer.alloc(0),
};

/** @throws Error if the head is none that the torture sends. */
export const parseMessage: ParseHead = (bytes) => {
  if (bytes.length < messageHeadBytes) return undefined;
  if (bytes[0] !== 0) throw new Error(`a message with the flag ${bytes[0]}`);
  return { headBytes: messageHeadBytes, bytes: bytes.readUInt32BE(1), isData: true };
};

/** The flag of the last message of gRPC-Web: its payload is the trailers. */
const trailersFlag = 0x80;

/** As above, for what a client of gRPC-Web gets. @throws Error as above. */
export const parseWebMessage: ParseHead = (bytes) => {
  if (bytes[0] !== trailersFlag) return parseMessage(bytes);
  if (bytes.length < messageHeadBytes) return undefined;
  return { headBytes: messageHeadBytes, bytes: bytes.readUInt32BE(1), isData: false };
};
