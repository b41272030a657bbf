import type { FrameHead, Framing, ParseHead } from "./speech.ts";

const opcode = { continuation: 0, binary: 2, close: 8 };
const final = 0x80;
const normalClosure = 1_000;

/** The key that every client of the torture sends (RFC 6455, 4.2.2). */
export const webSocketKey = "dG9ydHVyZSB0b3J0dXJlIQ==";

/** The frames of one side of a WebSocket: messages of two frames each, and at last one of one (RFC 6455, 5.2). */
export function webSocketFraming(isClient: boolean): { readonly framing: Framing; readonly parse: ParseHead } {
  const maskOf = (index: number) => Buffer.from([index & 255, 0x5a, (index >> 8) & 255, 0xa5]);
  const framing: Framing = {
    head(index, bytes, isLast) {
      const isFirst = index % 2 === 0;
      const code = (isFirst ? opcode.binary : opcode.continuation) | (isFirst && !isLast ? 0 : final);
      return headOf(code, bytes, isClient ? maskOf(index) : undefined);
    },
    ...(isClient && { mask: maskOf }),
    close: closeOf(isClient),
  };
  return { framing, parse: (bytes) => parseHead(bytes, !isClient) };
}

function closeOf(isClient: boolean): Buffer {
  const code = Buffer.alloc(2);
  code.writeUInt16BE(normalClosure);
  // A mask of zeros leaves the code as it is.
  return Buffer.concat([headOf(opcode.close | final, 2, isClient ? Buffer.alloc(4) : undefined), code]);
}

function headOf(code: number, bytes: number, mask: Buffer | undefined): Buffer {
  const maskBit = mask ? 0x80 : 0;
  const length = Buffer.alloc(bytes < 126 ? 2 : bytes < 65_536 ? 4 : 10);
  length[0] = code;
  length[1] = maskBit | (bytes < 126 ? bytes : bytes < 65_536 ? 126 : 127);
  if (length.length === 4) length.writeUInt16BE(bytes, 2);
  if (length.length === 10) length.writeUInt32BE(bytes, 6);
  return mask ? Buffer.concat([length, mask]) : length;
}

/** @throws Error if the head is none that the torture sends. */
function parseHead(bytes: Buffer, isMasked: boolean): FrameHead | undefined {
  const [first = 0, second] = bytes;
  if (second === undefined) return undefined;
  const code = first & 0x0f;
  const isData = code === opcode.continuation || code === opcode.binary;
  if ((first & 0x70) !== 0 || (!isData && code !== opcode.close)) throw new Error(`a frame that begins with ${first}`);
  if (second >= 0x80 !== isMasked) throw new Error(`a frame ${isMasked ? "without" : "with"} a mask`);
  const short = second & 0x7f;
  const lengthEnd = short === 127 ? 10 : short === 126 ? 4 : 2;
  const headBytes = lengthEnd + (isMasked ? 4 : 0);
  if (bytes.length < headBytes) return undefined;
  const length = short === 127 ? bytes.readUInt32BE(6) : short === 126 ? bytes.readUInt16BE(2) : short;
  return {
    ...{ headBytes, bytes: length, isData },
    ...(isMasked && { mask: Buffer.from(bytes.subarray(lengthEnd, headBytes)) }),
  };
}
