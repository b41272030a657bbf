import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { type Answered, ExpectedState } from "./expected-state.ts";
import { judge } from "./judge.ts";
import { program } from "./remembering-program.ts";

/** The program as a process of this machine. */
async function openProgram() {
  const folder = mkdtempSync(join(tmpdir(), "rouse-remembering-"));
  const env = { ...process.env, STATE_FOLDER: folder, PORT: "0" };
  const child = spawn(process.execPath, ["--eval", program], { env, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const port = /\d+$/.exec(line)?.[0];
  return {
    async step(to: number, life = ""): Promise<Answered> {
      const response = await fetch(`http://127.0.0.1:${port}/step?to=${to}&life=${life}`);
      return (await response.json()) as Answered;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await once(child, "exit");
      rmSync(folder, { recursive: true });
    },
  };
}

describe("the program of the hibernation soak", () => {
  it("says in each step what is expected of it, and takes no step twice", async () => {
    await using running = await openProgram();
    const first = await running.step(0);
    const expected = new ExpectedState(first.life);
    expect(expected.differences(first)).toEqual([]);
    for (const to of [1, 2, 3]) {
      expected.advance();
      expect(expected.differences(await running.step(to, first.life))).toEqual([]);
    }
    expect(expected.differences(await running.step(3, first.life))).toEqual([]);
    expect((await running.step(7, first.life)).step).toBe(3);
    expect((await running.step(4, "another")).step).toBe(3);
  });
});

describe("a woken sandbox", () => {
  it("is judged by its memory, its files and what the response says", async () => {
    await using running = await openProgram();
    const fresh = await running.step(0);
    const older = await running.step(1, fresh.life);
    const right = await running.step(2, fresh.life);
    const before = new ExpectedState(fresh.life);
    before.advance();
    before.advance();
    const known = { before, ticks: older.ticks - 1, lost: new Set(["lost"]) };
    const faultsOf = (answered: object, started?: string, hasWaited = true) =>
      judge(known, { answered: { ...right, ...answered }, started, hasWaited }).faults;
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf({}, "restored")).toEqual([]);
    expect(faultsOf(older)[0]).toContain("step is 1, not 2");
    expect(faultsOf({ openLog: older.log })[0]).toContain("openLog");
    expect(faultsOf({ fired: 0 })[0]).toContain("0 timers");
    expect(faultsOf({ ticks: 0 })[0]).toContain("the ticks went");
    expect(faultsOf({}, "anew")[0]).toContain("it goes on");

    const anew = { ...fresh, life: "new" };
    expect(faultsOf(anew, "anew")).toEqual([]);
    expect(faultsOf(anew, undefined, false)).toEqual([]);
    expect(faultsOf(anew)).toEqual(["its memory is lost, and the response says nothing"]);
    expect(faultsOf({ ...anew, life: "lost" }, "anew")).toEqual(["the life lost was lost, and is back"]);
    expect(faultsOf({ ...anew, step: 1 }, "anew")).toEqual(["a new life has taken 1 steps"]);
  });
});
