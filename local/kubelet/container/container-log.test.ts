import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { canMountDisks, mountSmallDisk } from "../../../test/support/labs/small-disk.ts";
import { ContainerLog, olderLog } from "./container-log.ts";
import { type LogSelection, limitBytes, readLog } from "./log-reader.ts";

const everything: LogSelection = { follow: false, timestamps: false, tailLines: undefined, since: undefined };

async function openLog(bytesMax?: number, parent = tmpdir()) {
  const directory = await mkdtemp(join(parent, "rouse-log-"));
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const log = new ContainerLog(join(directory, "logs", "0.log"), clock, bytesMax);
  const stdout = new PassThrough();
  log.attach(stdout, "stdout");
  const print = async (text: string) => {
    stdout.write(text);
    await new Promise((resolve) => setImmediate(resolve));
    await log.flush();
  };
  const read = async (selection: Partial<LogSelection> = {}, signal = new AbortController().signal) => {
    let text = "";
    for await (const piece of readLog(log.path, log, { ...everything, ...selection }, signal)) text += piece;
    return text;
  };
  const end = async () => {
    stdout.end();
    stdout.destroy();
    await log.close();
  };
  const disposal = {
    async [Symbol.asyncDispose]() {
      await end(); // the file stays open until then
      await rm(directory, { recursive: true, force: true });
    },
  };
  return { log, clock, print, read, end, ...disposal };
}

describe("the log of a container", () => {
  it("returns the output, with times if requested", async () => {
    await using log = await openLog();
    await log.print("one\ntwo");
    await log.end();
    expect(await log.read()).toBe("one\ntwo");
    expect(await log.read({ timestamps: true })).toBe("2026-01-01T00:00:00.000Z one\n2026-01-01T00:00:00.000Z two");
  });

  it("is empty before anything was printed", async () => {
    await using log = await openLog();
    expect(await log.read()).toBe("");
  });

  it.each([
    { tailLines: 0, text: "" },
    { tailLines: 2, text: "two\nthree\n" },
    { tailLines: 9, text: "one\ntwo\nthree\n" },
  ])("shows the last $tailLines lines", async ({ tailLines, text }) => {
    await using log = await openLog();
    await log.print("one\ntwo\nthree\n");
    expect(await log.read({ tailLines })).toBe(text);
  });

  it("shows the output since a time", async () => {
    await using log = await openLog();
    await log.print("early\n");
    await log.clock.advance(10_000);
    await log.print("late\n");
    expect(await log.read({ since: "2026-01-01T00:00:05.000Z" })).toBe("late\n");
  });

  it("is followed until it is closed, over a rotation too", async () => {
    await using log = await openLog(250);
    await log.print("first\n");
    const followed = log.read({ follow: true });
    const lines = Array.from({ length: 5 }, (_, index) => `line ${index} ${"x".repeat(30)}`);
    for (const line of lines) await log.print(`${line}\n`);
    await log.end();
    expect(await followed).toBe(`first\n${lines.join("\n")}\n`);
  });

  it("is read without gaps or repeated lines while it is rotated", async () => {
    await using log = await openLog(500);
    const texts: string[] = [];
    for (let line = 0; line < 600; line += 1) {
      const reading = log.read();
      // The line, and with some lines a rotation, comes after each step of the read in turn.
      for (let turns = line % 7; turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
      await log.print(`${line}\n`);
      texts.push(await reading);
    }
    expect(log.log.rotations).toBeGreaterThan(20);
    for (const text of texts.filter((each) => each !== "")) {
      const lines = text.trimEnd().split("\n").map(Number);
      expect(lines).toEqual(lines.map((_, index) => (lines[0] ?? 0) + index));
    }
  });

  it("is read up to the call while the program writes without a pause", async () => {
    await using log = await openLog();
    const endless = new PassThrough();
    let isWriting = false;
    // There is always more before the last batch is in the file.
    endless.resume = () => {
      if (isWriting) endless.emit("data", Buffer.from("y\n"));
      return endless;
    };
    log.log.attach(endless, "stdout");
    await log.print("first\n");
    isWriting = true;
    endless.resume();
    const [whole, last] = await Promise.all([log.read(), log.read({ tailLines: 1 })]).finally(() => {
      isWriting = false;
      endless.destroy();
    });
    expect(whole).toMatch(/^first\n(y\n)+$/);
    expect(last).toBe("y\n");
  });

  it("keeps all output in its order when much of it arrives at once", async () => {
    await using log = await openLog(100 * 1024 * 1024);
    const lines = Array.from({ length: 60_000 }, (_, line) => `${line}\n`);
    await log.print(lines.join(""));
    expect(await log.read()).toBe(lines.join(""));
  });

  it("does a small part of the work on the shortest lines in one turn of the event loop", async () => {
    const logs = await Promise.all(Array.from({ length: 10 }, () => openLog(100 * 1024 * 1024)));
    const chunk = "\n".repeat(65_536);
    const printed = Promise.all(logs.map(({ print }) => print(chunk)));
    let turns = 0;
    let isDone = false;
    void printed.then(() => (isDone = true));
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    // Ten chunks have eighty pieces, of which two are cut in a turn.
    expect(turns).toBeGreaterThanOrEqual(40);
    for (const log of logs) {
      expect((await log.read()).length).toBe(65_536);
      await log[Symbol.asyncDispose]();
    }
  });

  it("is not waited for once the client has gone", async () => {
    await using log = await openLog();
    await log.print("first\n");
    expect(await log.read({ follow: true }, AbortSignal.abort())).toBe("");
  });

  it("keeps no more than two files of bounded size, and reads from both", async () => {
    await using log = await openLog(1_000);
    const lines = Array.from({ length: 60 }, (_, index) => `${index} ${"x".repeat(50)}`);
    for (const line of lines) await log.print(`${line}\n`);
    const sizes = await Promise.all(
      [log.log.path, olderLog(log.log.path)].map(async (path) => (await stat(path)).size),
    );
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000);
    const kept = (await log.read()).trimEnd().split("\n");
    expect(kept).toEqual(lines.slice(-kept.length));
    expect(kept.length).toBeGreaterThan(10);
  });
});

it("truncates a log after the given number of bytes", async () => {
  async function* texts() {
    yield "abc";
    yield "déf";
    yield "never";
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of limitBytes(texts(), 5)) chunks.push(chunk);
  expect(Buffer.concat(chunks)).toEqual(Buffer.from("abcdé").subarray(0, 5));
});

// Where no disk can be mounted this test does not run.
it.runIf(canMountDisks)("a log that a full disk has cut goes on with whole lines", async () => {
  await using disk = await mountSmallDisk(1);
  await using log = await openLog(undefined, disk.path);
  const lineOf = (turn: number) => `${turn} ${"x".repeat(10_000)}`;
  await log.print(`${lineOf(0)}\n`);
  const filler = join(disk.path, "of another program");
  await writeFile(filler, Buffer.alloc(512 * 1_024));
  for (let turn = 1; turn < 60; turn += 1) await log.print(`${lineOf(turn)}\n`);
  await rm(filler);
  await log.print(`${lineOf(99)}\n`);
  const lines = (await log.read()).trimEnd().split("\n");
  expect(lines.length).toBeLessThan(60);
  expect(lines.at(-1)).toBe(lineOf(99));
  for (const line of lines) expect(line).toMatch(/^\d+ x{10000}$/);
});
