import { describe, expect, it } from "vitest";
import { EntryCutter } from "./entry-cutter.ts";
import { longestLineBytes, parseLogLine } from "./log-line.ts";

const time = "2026-01-01T00:00:00.000Z";
const linesOf = (...entries: readonly Buffer[]) =>
  Buffer.concat(entries).toString().split("\n").slice(0, -1).map(parseLogLine);
const shown = (...entries: readonly Buffer[]) =>
  linesOf(...entries).map((line) => (line?.partial ? `${line.text}…` : line?.text));

describe("the entries of a log", () => {
  it("are those of container runtimes", () => {
    const entries = new EntryCutter("stderr").cut(Buffer.from("it  is F cold\n\n"), time);
    expect(entries.toString()).toBe(`${time} stderr F it  is F cold\n${time} stderr F \n`);
  });

  it("are put together from the pieces of a line", () => {
    const cutter = new EntryCutter("stdout");
    const cut = ["one\ntw", "o", "\n\nthree"].map((piece) => cutter.cut(Buffer.from(piece), time));
    expect(shown(...cut, cutter.end(time))).toEqual(["one", "two", "", "three…"]);
    expect(cutter.end(time)).toHaveLength(0);
  });

  it("are cut between two characters if a line is long", () => {
    const text = `${"a".repeat(longestLineBytes - 1)}é${"b".repeat(10)}`;
    const lines = linesOf(new EntryCutter("stdout").cut(Buffer.from(`${text}\n`), time));
    expect(lines.map((line) => line?.text).join("")).toBe(text);
    expect(lines.map((line) => line?.partial)).toEqual([true, false]);
    const noCharacters = Buffer.alloc(longestLineBytes + 1, 0x80);
    expect(linesOf(new EntryCutter("stdout").cut(noCharacters, time))).toHaveLength(1);
  });

  it("are parts of a line that never ends", () => {
    const cutter = new EntryCutter("stdout");
    const lines = linesOf(cutter.cut(Buffer.alloc(2 * longestLineBytes + 1, "x"), time), cutter.end(time));
    expect(lines.map((line) => [line?.text.length, line?.partial])).toEqual([
      [longestLineBytes, true],
      [longestLineBytes, true],
      [1, true],
    ]);
  });

  it("are the same however the output is cut into chunks", () => {
    const output = Buffer.from(Array.from({ length: 300 }, (_, n) => `${"é".repeat(n * 7)}${n}\n`).join(""));
    const inChunksOf = (bytes: number) => {
      const cutter = new EntryCutter("stdout");
      const cut: Buffer[] = [];
      for (let at = 0; at < output.length; at += bytes) cut.push(cutter.cut(output.subarray(at, at + bytes), time));
      return Buffer.concat([...cut, cutter.end(time)]).toString();
    };
    const whole = inChunksOf(output.length);
    for (const bytes of [1_000, 4_096, 8_191]) expect(inChunksOf(bytes)).toBe(whole);
  });
});
