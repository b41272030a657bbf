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
});
