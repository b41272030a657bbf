import { describe, expect, it } from "vitest";
import { TimeShares } from "./time-shares.ts";

/** Runs tasks one after the other; each group always has one that waits. Returns the time of each. */
function share(shares: TimeShares, costs: Readonly<Record<string, number>>, forMs: number) {
  const used = new Map(Object.keys(costs).map((name) => [name, 0]));
  const tasks = new Map(Object.keys(costs).map((name) => [name, shares.enter(name)]));
  for (let now = 0; now < forMs; ) {
    const [first = ""] = [...used.keys()].sort((one, other) => shares.usedMs(one) - shares.usedMs(other));
    const cost = costs[first] ?? 0;
    shares.spend(first, cost);
    used.set(first, (used.get(first) ?? 0) + cost);
    now += cost;
    const next = shares.enter(first);
    tasks.get(first)?.[Symbol.dispose]();
    tasks.set(first, next);
  }
  return used;
}

describe("groups that share a resource", () => {
  it("have equal parts of its time, whatever one task takes", () => {
    const used = share(new TimeShares(), { usual: 1, long: 50, longer: 100 }, 30_000);
    for (const ms of used.values()) expect(Math.abs(ms - 10_000)).toBeLessThanOrEqual(150);
  });

  it("do not pay for the time that they had alone", () => {
    const shares = new TimeShares();
    for (let n = 0; n < 100; n += 1) {
      using _task = shares.enter("a");
      shares.spend("a", 1_000);
    }
    using _one = shares.enter("a");
    using _other = shares.enter("b");
    expect(shares.usedMs("a")).toBe(shares.usedMs("b"));
  });

  it("pay between two tasks for what they used while others waited", () => {
    const shares = new TimeShares();
    using _waiting = shares.enter("b");
    shares.enter("a")[Symbol.dispose]();
    shares.spend("a", 10);
    using _next = shares.enter("a");
    expect(shares.usedMs("a")).toBe(10);
    expect(shares.usedMs("b")).toBe(0);
  });

  it("save no time while they have no task", () => {
    const shares = new TimeShares();
    using _busy = shares.enter("a");
    shares.enter("b")[Symbol.dispose]();
    shares.spend("a", 5_000);
    using _back = shares.enter("b");
    expect(shares.usedMs("b")).toBe(5_000);
  });

  it("are remembered in a bounded number", () => {
    const shares = new TimeShares();
    using _waiting = shares.enter("there");
    for (let n = 0; n < 5_000; n += 1) shares.enter(`group ${n}`)[Symbol.dispose]();
    expect(shares.size).toBe(1_024);
  });
});
