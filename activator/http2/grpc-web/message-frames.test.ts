import { expect, it } from "vitest";
import { seededRandom } from "../../../test/support/seeded-random.ts";
import { MessageFrames } from "./message-frames.ts";

function frame(flag: number, length: number): Buffer {
  const bytes = Buffer.alloc(5 + length, 0x80);
  bytes[0] = flag;
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

it("messages end where their lengths say, wherever their bytes are split", () => {
  const random = seededRandom(2);
  for (let round = 0; round < 200; round += 1) {
    const messages = Array.from({ length: 1 + random.below(5) }, () => frame(random.below(2), random.below(300)));
    const bytes = Buffer.concat(messages);
    let end = 0;
    const ends = new Set(messages.map((each) => (end += each.length)));
    const frames = new MessageFrames();
    for (let at = 0; at < bytes.length; ) {
      const next = Math.min(bytes.length, at + random.below(12));
      expect(frames.pass(bytes.subarray(at, next))).toBe(true);
      expect(frames.isBetween).toBe(next === 0 || ends.has(next));
      at = next;
    }
  }
});

it("a message of the largest length has begun", () => {
  const frames = new MessageFrames();
  expect(frames.pass(Buffer.from([0, 255, 255, 255, 255, 1]))).toBe(true);
  expect(frames.isBetween).toBe(false);
});

it("the flag of trailers, or any other that has no meaning in gRPC, begins no message", () => {
  for (const flag of [2, 0x80, 0x81, 255]) {
    expect(new MessageFrames().pass(frame(flag, 1))).toBe(false);
    const second = new MessageFrames();
    expect(second.pass(frame(0, 2))).toBe(true);
    expect(second.pass(frame(flag, 1))).toBe(false);
  }
});
