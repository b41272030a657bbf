import type { Framing, ParseHead } from "./speech.ts";

const headBytes = 5;

/** The messages of a call of gRPC: a flag that says that they are not compressed, and a length. */
export const messageFraming: Framing = {
  head(_index, bytes) {
    const head = Buffer.alloc(headBytes);
    head.writeUInt32BE(bytes, 1);
    return head;
  },
  close: Buffer.alloc(0),
};

/** @throws Error if the head is none that the torture sends. */
export const parseMessage: ParseHead = (bytes) => {
  if (bytes.length < headBytes) return undefined;
  if (bytes[0] !== 0) throw new Error(`a message with the flag ${bytes[0]}`);
  return { headBytes, bytes: bytes.readUInt32BE(1), isData: true };
};
