import { describe, expect, it } from "vitest";
import { FakeClock } from "../lib/clock.ts";
import { Sweep, type Watched } from "./sweep.ts";

function watch(check: (nowMs: number) => void): Watched {
  return { sweepIndex: -1, check };
}

describe("a sweep", () => {
  it("asks everything that is watched, and lets things leave while it asks", async () => {
    const clock = new FakeClock();
    using sweep = new Sweep(clock);
    const asked: string[] = [];
    const all = ["a", "b", "c", "d"].map((name) =>
      watch(() => {
        asked.push(name);
        if (name !== "a") for (const each of all) if (each !== all[0]) sweep.remove(each);
      }),
    );
    for (const each of all) sweep.add(each);
    await clock.advance(100);
    expect(asked).toEqual(["d", "a"]);
    await clock.advance(100);
    expect(asked).toEqual(["d", "a", "a"]);
    expect(sweep.size).toBe(1);
  });

  it("runs no timer while there is nothing to watch", async () => {
    const clock = new FakeClock();
    using sweep = new Sweep(clock);
    expect(clock.pending).toBe(0);
    const only = watch(() => {});
    sweep.add(only);
    sweep.add(only);
    expect(clock.pending).toBe(1);
    sweep.remove(only);
    sweep.remove(only);
    expect([clock.pending, sweep.size]).toEqual([0, 0]);
  });
});
