import { describe, expect, it } from "vitest";
import { WebSocketFrames } from "./web-socket-frames.ts";

/** A frame (RFC 6455, 5.2) with a payload of so many bytes. */
function frame(opcode: number, length: number, masked: boolean): Buffer {
  const mask = masked ? 0x80 : 0;
  const header = [0x80 | opcode];
  if (length < 126) header.push(mask | length);
  else if (length < 65_536) header.push(mask | 126, length >> 8, length & 0xff);
  else header.push(mask | 127, 0, 0, 0, 0, 0, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff);
  return Buffer.concat([Buffer.from(header), Buffer.alloc((masked ? 4 : 0) + length, 0x81)]);
}

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

describe("the frames of a WebSocket", () => {
  for (const [name, opcode] of Object.entries(opcodes)) {
    it.each([0, 1, 125, 126, 65_535, 65_536])(
      `of ${name}, %i bytes long, ${opcode < 8 ? "are" : "are no"} data`,
      (length) => {
        for (const masked of [true, false]) {
          const frames = new WebSocketFrames();
          const bytes = frame(opcode, length, masked);
          expect(frames.sawData(bytes, bytes.length)).toBe(opcode < 8);
          expect(frames.mayInsert).toBe(opcode !== opcodes.close);
        }
      },
    );
  }

  it("are distinguished at every split of the bytes", () => {
    const bytes = Buffer.concat([
      frame(opcodes.ping, 3, true),
      frame(opcodes.text, 130, true),
      frame(opcodes.pong, 0, true),
    ]);
    const inText = { from: 9, to: 9 + 8 + 130 };
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const frames = new WebSocketFrames();
      const first = frames.sawData(bytes.subarray(0, cut), cut);
      expect(frames.mayInsert).toBe([9, inText.to].includes(cut));
      const second = frames.sawData(bytes.subarray(cut), bytes.length - cut);
      expect([first, second]).toEqual([cut > inText.from, cut < inText.to]);
    }
  });

  it("are counted at their begin, data frames alone", () => {
    const frames = new WebSocketFrames();
    const bytes = Buffer.concat([frame(opcodes.text, 200, false), frame(opcodes.ping, 2, false)]);
    frames.sawData(bytes, 1);
    expect(frames.dataFrames).toBe(1);
    frames.sawData(bytes.subarray(1), bytes.length - 1);
    expect(frames.dataFrames).toBe(1);
    frames.sawData(bytes, bytes.length);
    expect(frames.dataFrames).toBe(2);
  });

  it("of 128 KiB of empty frames are read in a few milliseconds", () => {
    const bytes = Buffer.concat(Array.from({ length: 65_536 }, () => frame(opcodes.ping, 0, false)));
    const times = Array.from({ length: 20 }, () => {
      const frames = new WebSocketFrames();
      const beganMs = performance.now();
      expect(frames.sawData(bytes, bytes.length)).toBe(false);
      return performance.now() - beganMs;
    });
    expect(Math.min(...times)).toBeLessThan(3);
  });
});
