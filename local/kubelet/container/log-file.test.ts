import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { olderLog } from "./container-log.ts";
import { pieceBytes } from "./log-file.ts";
import { entryStart } from "./log-line.ts";
import { type LogSelection, readLog } from "./log-reader.ts";

const everything: LogSelection = { follow: false, timestamps: false, tailLines: undefined, since: undefined };

async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), "rouse-log-file-"));
  const path = join(folder, "0.log");
  const reading = (selection: Partial<LogSelection> = {}) =>
    readLog(path, undefined, { ...everything, ...selection }, new AbortController().signal);
  return {
    path,
    reading,
    read: async (selection?: Partial<LogSelection>) => (await Array.fromAsync(reading(selection))).join(""),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

const entry = (text: string, partial = false, second = 0) =>
  `${entryStart({ time: new Date(second * 1_000).toISOString(), stream: "stdout", partial })}${text}\n`;

const linesOf = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `${from + at} abcdefghij`);

it("a log is read in pieces, each when it is asked for", async () => {
  await using log = await openFolder();
  const lines = linesOf(0, 20_000);
  await writeFile(log.path, lines.map((line) => entry(line)).join(""));
  const pieces = await Array.fromAsync(log.reading());
  expect(pieces.join("")).toBe(`${lines.join("\n")}\n`);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(pieceBytes);
  const first = log.reading();
  await first.next();
  await rm(log.path);
  await first.return(undefined);
});

it.each([0, 1, 2, 1_000, 1_001, 3_999, 4_000, 4_001, 7_999, 9_000])(
  "the last %i lines are found",
  async (tailLines) => {
    await using log = await openFolder();
    const [older, current] = [linesOf(0, 4_000), linesOf(4_000, 8_000)];
    await writeFile(
      olderLog(log.path),
      `${older.map((line) => entry(line)).join("")}1970-01-01T00:00:00.000Z stdout F torn`,
    );
    await writeFile(log.path, `${current.map((line) => entry(line)).join("")}1970-01-01T00:00:00.000Z stdout F to`);
    const last = [...older, ...current].slice(Math.max(8_000 - tailLines, 0)).map((line) => `${line}\n`);
    expect(await log.read({ tailLines })).toBe(last.join(""));
  },
);

it("the last lines are counted with all their parts, and among those since a time", async () => {
  await using log = await openFolder();
  const entries = [entry("early"), entry("one ", true, 9), entry("line", false, 9), entry("no end", true, 9)];
  await writeFile(log.path, entries.join(""));
  expect(await log.read({ tailLines: 1 })).toBe("no end");
  expect(await log.read({ tailLines: 2 })).toBe("one line\nno end");
  expect(await log.read({ tailLines: 3 })).toBe("early\none line\nno end");
  expect(await log.read({ tailLines: 3, since: "1970-01-01T00:00:05.000Z" })).toBe("one line\nno end");
});

it("the last line is read without what is before it, however much that is", async () => {
  await using log = await openFolder();
  {
    await using file = await open(log.path, "w");
    const bytes = Buffer.from(`\n${entry("last but one")}${entry("last")}`);
    await file.write(bytes, 0, bytes.length, 64 * 1024 ** 3); // sparse: it takes no space of the disk
  }
  expect(await log.read({ tailLines: 1 })).toBe("last\n");
});

it("an entry that is too long to be one is left out", async () => {
  await using log = await openFolder();
  await writeFile(log.path, `${entry("one")}${"x".repeat(5 * pieceBytes)}\n${entry("two")}`);
  expect(await log.read()).toBe("one\ntwo\n");
  expect(await log.read({ tailLines: 2 })).toBe("one\ntwo\n");
});
