import { describe, expect, it } from "vitest";
import type { Idleness } from "./decide-idle.ts";
import { IdleSchedule } from "./idle-schedule.ts";

const awakeUntil = (atMs: number): Idleness => ({
  is: "awake",
  why: "it was used",
  recheckAtMs: atMs,
  sleepsAtMs: atMs,
  lastMs: 0,
});

/** A schedule over sandboxes that fall idle at given moments, and the questions that it asked. */
function scheduleOf(fallsIdleAtMs: Readonly<Record<string, number>>) {
  const asked: string[] = [];
  let nowMs = 0;
  const schedule = new IdleSchedule((key) => {
    asked.push(key);
    const atMs = fallsIdleAtMs[key];
    if (atMs === undefined) return undefined;
    return atMs <= nowMs ? { is: "idle", forMs: 0, lastMs: 0 } : awakeUntil(atMs);
  });
  const sweep = (atMs: number, idleMax = 100, isOver = () => false) => {
    nowMs = atMs;
    return schedule.sweep(atMs, idleMax, isOver);
  };
  return { schedule, asked, sweep };
}

describe("the schedule of sleep", () => {
  it("asks about a sandbox only when its time has come", () => {
    const { schedule, asked, sweep } = scheduleOf({ a: 100, b: 200 });
    for (const key of ["a", "b", "gone"]) schedule.checkAt(key, 0);
    expect(sweep(0)).toEqual([]);
    expect(asked).toHaveLength(3);
    expect([sweep(99), asked.length, schedule.nextMs]).toEqual([[], 3, 100]);
    expect([sweep(100), asked.length]).toEqual([["a"], 4]);
    expect([sweep(300), asked.length, schedule.nextMs]).toEqual([["b"], 5, undefined]);
  });

  it("checks every sandbox with a deadline when the clock has jumped", () => {
    const { schedule, asked, sweep } = scheduleOf({ a: 0, b: 200 });
    for (const key of ["a", "b"]) schedule.checkAt(key, 0);
    expect(sweep(0)).toEqual(["a"]);
    schedule.lookAtAll(50);
    expect([sweep(50), asked]).toEqual([[], ["a", "b", "b"]]);
  });

  it("never lets a crowd go: the rest stay due", () => {
    const keys = Array.from({ length: 25 }, (_, index) => `sandbox ${index}`);
    const { schedule, sweep } = scheduleOf(Object.fromEntries(keys.map((key) => [key, 0])));
    for (const key of keys) schedule.checkAt(key, 0);
    expect([1, 2, 3, 4].map((atMs) => sweep(atMs, 10).length)).toEqual([10, 10, 5, 0]);
  });

  it("leaves the rest due when its time is over", () => {
    const keys = Array.from({ length: 25 }, (_, index) => `sandbox ${index}`);
    const { schedule, asked, sweep } = scheduleOf(Object.fromEntries(keys.map((key) => [key, 100])));
    for (const key of keys) schedule.checkAt(key, 0);
    expect(sweep(0, 100, () => asked.length % 10 === 0)).toEqual([]);
    expect([asked.length, schedule.nextMs]).toEqual([10, 0]);
    sweep(0);
    expect([new Set(asked).size, asked.length, schedule.nextMs]).toEqual([25, 25, 100]);
  });
});
