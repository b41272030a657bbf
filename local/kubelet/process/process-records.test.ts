import { describe, expect, it } from "vitest";
import { parseStat, readProcess } from "./proc.ts";
import { straysOf } from "./process-records.ts";

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

  it("includes the rest of the group when its head is gone", () => {
    expect(straysOf(record, [facts(101, 100, 5_010)])).toEqual([101]);
  });

  it("is empty when every process has ended", () => {
    expect(straysOf(record, [facts(100, 100, 5_000, true)])).toEqual([]);
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
