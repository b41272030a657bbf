import { describe, expect, it } from "vitest";
import { bytesOf, downStream, upStream } from "../bytes.ts";
import { atOnce } from "../link.ts";
import type { TalkPlan } from "../plan.ts";
import { messageFraming } from "./message-framing.ts";
import { speechOf } from "./speech.ts";

const side = { bytes: 1_000, sending: { pieceBytes: 100, everyMs: 0 }, reading: atOnce, ends: "sent" } as const;
const frames = { bytes: 300, closes: false };

function planOf(isText: boolean): TalkPlan {
  return {
    ...{ kind: "talk", id: 7, sandbox: "steady-0", by: "stream", ahead: 0, early: 0, client: side, pod: side },
    frames: { client: frames, pod: frames },
    call: {
      ...{ answers: "after", delayMs: 0, status: 0, isHeadAlone: false, resetCode: 8, connection: "keep" },
      web: { isText, sendsLength: false },
    },
  };
}

const trailers = Buffer.concat([Buffer.from([0x80, 0, 0, 0, 15]), Buffer.from("grpc-status:0\r\n")]);
const message = (from: number, to: number) =>
  Buffer.concat([messageFraming.head(0, to - from, false), bytesOf(downStream(7), from, to)]);

describe("the client of gRPC-Web", () => {
  it("sends its messages in base64 that is padded within, and the same messages in the binary form", () => {
    const binary = speechOf(planOf(false), "client").encode(0, 1_000);
    const text = speechOf(planOf(true), "client");
    const parts = [text.encode(0, 101), text.encode(101, 1_000)].map(String);
    expect(parts[0]).toMatch(/=$/);
    expect(Buffer.concat(parts.map((part) => Buffer.from(part, "base64")))).toEqual(binary);
    expect(binary.length).toBe(1_000 + 4 * 5);
    expect(binary.subarray(5, 305)).toEqual(bytesOf(upStream(7), 0, 300));
  });

  it.each([false, true])("reads messages and trailers, however they are cut (base64: %s)", (isText) => {
    const coded = (bytes: Buffer) => (isText ? Buffer.from(bytes.toString("base64")) : bytes);
    const all = Buffer.concat([coded(message(0, 301)), coded(message(301, 1_000)), coded(trailers)]);
    for (const step of [1, 3, 7, 1_000]) {
      const speech = speechOf(planOf(isText), "client");
      const parts: Buffer[] = [];
      for (let at = 0; at < all.length; at += step) parts.push(speech.decode(all.subarray(at, at + step)));
      expect(Buffer.concat(parts)).toEqual(bytesOf(downStream(7), 0, 1_000));
      expect(String(speech.closing)).toBe("grpc-status:0\r\n");
      expect([speech.broken, speech.isBetween]).toEqual([undefined, true]);
    }
  });

  it("knows an end within a message, and text within four characters", () => {
    const speech = speechOf(planOf(false), "client");
    speech.decode(message(0, 300).subarray(0, 200));
    expect(speech.isBetween).toBe(false);
    const text = speechOf(planOf(true), "client");
    text.decode(Buffer.from("AAA"));
    expect(text.isBetween).toBe(false);
  });

  it("reports what is not base64, and a message behind the trailers", () => {
    const text = speechOf(planOf(true), "client");
    text.decode(Buffer.from("AA=A"));
    expect(text.broken).toContain("base64");
    const binary = speechOf(planOf(false), "client");
    binary.decode(Buffer.concat([trailers, message(0, 1)]));
    expect(binary.broken).toContain("behind the close frame");
  });
});
