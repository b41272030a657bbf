import { describe, expect, it } from "vitest";
import { formatLogLine, LineCutter, longestLineBytes, parseLogLine } from "./log-line.ts";

const line = { time: "2026-01-01T00:00:00.000Z", stream: "stderr", text: "it  is F cold", partial: false } as const;

it("writes a line as container runtimes do, and reads it back", () => {
  const entry = formatLogLine(line);
  expect(entry).toBe("2026-01-01T00:00:00.000Z stderr F it  is F cold\n");
  expect(parseLogLine(entry.slice(0, -1))).toEqual(line);
});

it.each(["", "2026-01-01T00:00:00.000Z", "garbage stdin F x"])("does not read %j", (entry) => {
  expect(parseLogLine(entry)).toBeUndefined();
});

describe("cutting output into lines", () => {
  it("puts a line together from its pieces", () => {
    const cutter = new LineCutter();
    const cut = ["one\ntw", "o", "\n\nthree"].flatMap((piece) => cutter.cut(Buffer.from(piece)));
    expect([...cut, ...cutter.end()].map(({ text, partial }) => (partial ? `${text}…` : text))).toEqual([
      "one",
      "two",
      "",
      "three…",
    ]);
  });

  it("cuts a long line between two characters", () => {
    const text = `${"a".repeat(longestLineBytes - 1)}é${"b".repeat(10)}`;
    const parts = new LineCutter().cut(Buffer.from(`${text}\n`));
    expect(parts.map((part) => part.text).join("")).toBe(text);
    const noCharacters = Buffer.alloc(longestLineBytes + 1, 0x80);
    expect(new LineCutter().cut(noCharacters)).toHaveLength(1);
  });

  it("cuts a line that never ends into parts", () => {
    const parts = new LineCutter().cut(Buffer.alloc(2 * longestLineBytes + 1, "x"));
    expect(parts.map(({ text, partial }) => [text.length, partial])).toEqual([
      [longestLineBytes, true],
      [longestLineBytes, true],
    ]);
  });
});
