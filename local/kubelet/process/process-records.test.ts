import { randomUUID } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createLogger, silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { Containment } from "./containment.ts";
import { parseStat, readProcess, startedAt } from "./proc.ts";
import { startProcess } from "./process.ts";
import { ProcessRecords, straysOf } from "./process-records.ts";

const facts = (pid: number, groupId: number, startTicks: number, zombie = false) => ({
  pid,
  groupId,
  sessionId: groupId,
  parentPid: 1,
  startTicks,
  zombie,
});
const record = { pid: 100, program: "node", startTicks: 5_000 };

describe("the remains of an earlier run", () => {
  it("is the process of the record and all of its group", () => {
    const processes = [facts(100, 100, 5_000), facts(101, 100, 5_010), facts(200, 200, 5_020)];
    expect(straysOf(record, processes)).toEqual([100, 101]);
  });

  it("is never a foreign process with the same number", () => {
    expect(straysOf(record, [facts(100, 100, 9_000), facts(101, 100, 9_001)])).toEqual([]);
  });

  it("is no group without its head, whose number another session may have by now", () => {
    expect(straysOf(record, [facts(101, 100, 5_010)])).toEqual([]);
  });

  it("is empty when every process has ended", () => {
    expect(straysOf(record, [facts(100, 100, 5_000, true)])).toEqual([]);
  });
});

describe("the records of an earlier run", () => {
  const sleeper = async () => {
    const [program, environment] = ["/bin/sleep", { PATH: "/bin" }];
    return startProcess({ program, argv: ["sleep", "600"], environment, workingDirectory: tmpdir() });
  };

  it.each([
    { system: "a system with /proc", knowsProc: true },
    { system: "a system where only ps tells of processes", knowsProc: false },
  ])("end the process that they are about, on $system", async ({ knowsProc }) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-records-"));
    const records = await ProcessRecords.open(folder.path, knowsProc);
    const started = await sleeper();
    records.add(`${randomUUID()}/main`, { pid: started.pid, program: "sleep", mark: randomUUID() });
    expect(await records.killStrays(systemClock, silentLogger)).toBe(1);
    expect(await started.exited).toMatchObject({ signal: "SIGKILL" });
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("end nothing if they came with a copy of the directory, whose original may have a runtime", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-records-"));
    const [original, copy] = [join(folder.path, "original"), join(folder.path, "copy")];
    const records = await ProcessRecords.open(original);
    const started = await sleeper();
    records.add(`${randomUUID()}/main`, { pid: started.pid, program: "sleep", mark: randomUUID() });
    cpSync(original, copy, { recursive: true });
    expect(await (await ProcessRecords.open(copy)).killStrays(systemClock, silentLogger)).toBe(0);
    expect(readdirSync(copy)).toEqual([]);

    const moved = join(folder.path, "moved");
    renameSync(original, moved);
    expect(await (await ProcessRecords.open(moved)).killStrays(systemClock, silentLogger)).toBe(1);
    expect(await started.exited).toMatchObject({ signal: "SIGKILL" });
  });

  it("end no process with the same number that started at another time", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-records-"));
    const records = await ProcessRecords.open(folder.path, false);
    const foreign = await sleeper();
    const record = { pid: foreign.pid, program: "sleep", startedAt: "Thu Jan  1 00:00:00 1970" };
    writeFileSync(join(folder.path, `${randomUUID()}_main.json`), JSON.stringify(record));
    expect(await records.killStrays(systemClock, silentLogger)).toBe(0);
    foreign.signal("SIGTERM");
    expect(await foreign.exited).toMatchObject({ signal: "SIGTERM" });
  });

  it("end the processes of each run of a container, also of one that outlived its container", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-records-"));
    const records = await ProcessRecords.open(folder.path);
    const key = `${randomUUID()}/main`;
    const runs = [await sleeper(), await sleeper(), await sleeper()];
    const marks = runs.map(({ pid }) => {
      const mark = randomUUID();
      records.plan(key, { program: "sleep", mark });
      records.add(key, { pid, program: "sleep", mark });
      return mark;
    });
    records.remove(key, marks[2] ?? "");
    expect(await records.killStrays(systemClock, silentLogger)).toBe(2);
    expect(await Promise.all(runs.slice(0, 2).map(({ exited }) => exited))).toMatchObject(
      Array(2).fill({ signal: "SIGKILL" }),
    );
    runs[2]?.signal("SIGTERM");
    expect(await runs[2]?.exited).toMatchObject({ signal: "SIGTERM" });
  });

  it("stay while the system does not end their processes, for the next start, and the log says so", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-records-"));
    const lines: string[] = [];
    const log = createLogger("test", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
    const records = await ProcessRecords.open(folder.path);
    records.plan(`${randomUUID()}/main`, { program: "sleep", mark: randomUUID() });
    const end = vi.spyOn(Containment.prototype, "end").mockResolvedValueOnce({ killed: 1, left: [4_194_303] });
    await records.killStrays(systemClock, log);
    expect(readdirSync(folder.path)).toHaveLength(1);
    expect(lines).toEqual([
      "could not kill processes outside the process group of their container; retrying at the next start",
    ]);
    end.mockRestore();
    await records.killStrays(systemClock, silentLogger);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("of an earlier version, which had no mark in their names, count too", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-records-"));
    const records = await ProcessRecords.open(folder.path, false);
    const started = await sleeper();
    const record = { pid: started.pid, program: "sleep", startedAt: startedAt(started.pid) };
    writeFileSync(join(folder.path, `${randomUUID()}_main.json`), JSON.stringify(record));
    expect(await records.killStrays(systemClock, silentLogger)).toBe(1);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("leave files that are no records where they are", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-records-"));
    writeFileSync(join(folder.path, "thesis.md"), "chapter one");
    writeFileSync(join(folder.path, `${randomUUID()}_main.json`), "torn by a cra");
    writeFileSync(join(folder.path, `${randomUUID()}_main.json.new`), "torn by a cra");
    writeFileSync(join(folder.path, "thesis.md.new"), "chapter two");
    await (await ProcessRecords.open(folder.path)).killStrays(systemClock, silentLogger);
    expect(readdirSync(folder.path)).toEqual(["thesis.md", "thesis.md.new"]);
  });
});

describe("parsing Linux's data of a process", () => {
  it("is not led astray by the name of the program", () => {
    const rest = "S 1 100 100 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5000 1 1";
    expect(parseStat(`100 (a) S 9 9 (b) ${rest}`)).toMatchObject({
      pid: 100,
      parentPid: 1,
      groupId: 100,
      startTicks: 5_000,
    });
  });

  it("is undefined for a process that is gone", async () => {
    expect(parseStat("")).toBeUndefined();
    expect(await readProcess(2 ** 22 + 1)).toBeUndefined();
  });
});

it("a record that cannot be written leaves no file, and only the owner may enter their folder", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-records-"));
  const path = join(folder.path, "processes");
  mkdirSync(path, { mode: 0o755 });
  const records = await ProcessRecords.open(path);
  expect(statSync(path).mode & 0o777).toBe(0o700);
  const [uid, mark] = [randomUUID(), randomUUID()];
  const place = `${uid}_main_${mark}.json`;
  mkdirSync(join(path, place));
  expect(() => records.plan(`${uid}/main`, { program: "sleep", mark })).toThrow();
  expect(readdirSync(path)).toEqual([place]);
});
