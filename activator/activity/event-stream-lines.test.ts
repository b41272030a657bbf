import { describe, expect, it } from "vitest";
import { EventStreamLines } from "./event-stream-lines.ts";

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

describe("an event stream", () => {
  it.each<[string, string, boolean]>([
    ["an event", "data: hello\n\n", true],
    ["an event in a chunk", chunk("data: hello\n\n"), true],
    ["a name without a value", "event: tick\r\n\r\n", true],
    ["a field that begins like a number", "data\n\n", true],
    ["a comment", ": keep-alive\n\n", false],
    ["a comment in a chunk", chunk(": ping - 2026-01-01 00:00:00\r\n\r\n"), false],
    ["an empty comment", ":\n\n", false],
    ["an empty line", "\r\n", false],
    ["the last chunk", "0\r\n\r\n", false],
    ["an event behind a comment that a bare CR ends", ": keep-alive\rdata: hello\r\r", true],
    ["comments that a bare CR ends", ": keep-alive\r: again\r\r", false],
    ["a comment before an event", `${chunk(":\n\n")}${chunk("id: 7\n\n")}`, true],
  ])("is used by what is no comment: %s", (_, text, used) => {
    const bytes = Buffer.from(`..${text}..`);
    expect(new EventStreamLines().sawEvent(bytes, 2, bytes.length - 2)).toBe(used);
  });

  it("is read the same when it comes byte by byte", () => {
    const seenIn = (text: string) => {
      const lines = new EventStreamLines();
      return [...Buffer.from(text)].some((byte) => lines.sawEvent(Buffer.from([byte]), 0, 1));
    };
    expect(seenIn(chunk(": ping\n\n"))).toBe(false);
    expect(seenIn(chunk("data: x\n\n"))).toBe(true);
  });

  it("ends in the same state for any number of lines in one read", () => {
    const pieces = [
      ":c\n",
      "data: x\n",
      "\r\n",
      ":c\r",
      "data: x\r",
      "1f\r\n",
      "a",
      ":",
      "z",
      `${"long ".repeat(30)}`,
      "\n",
    ];
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let round = 0; round < 500; round += 1) {
      const text = Array.from({ length: 1 + random(12) }, () => pieces[random(pieces.length)] ?? "").join("");
      const [whole, single] = [new EventStreamLines(), new EventStreamLines()];
      const bytes = Buffer.from(`\n${text}\n`);
      let seen = false;
      for (let at = 1; at < bytes.length - 1; at += 1) if (single.sawEvent(bytes, at, at + 1)) seen = true;
      expect(whole.sawEvent(bytes, 1, bytes.length - 1), text).toBe(seen);
      const next = Buffer.from([":", "x", "1", "\n"][random(4)] ?? "");
      expect(whole.sawEvent(next, 0, 1), text).toBe(single.sawEvent(next, 0, 1));
    }
  });

  it("of 128 KiB of empty lines, comments or short events is read in a few milliseconds", () => {
    for (const line of ["\n", ":\n", "x\n", "x\r", ":\r", `:${"c".repeat(200)}\n`]) {
      const bytes = Buffer.alloc(131_072, line);
      const times = Array.from({ length: 20 }, () => {
        const beganMs = performance.now();
        new EventStreamLines().sawEvent(bytes, 0, bytes.length);
        return performance.now() - beganMs;
      });
      expect(Math.min(...times)).toBeLessThan(5);
    }
  });
});
