import { describe, expect, it } from "vitest";
import { FakeClock } from "../lib/time/clock.ts";
import { Sweep, type Watched } from "./sweep.ts";

function watch(check: (nowMs: number) => void): Watched {
  return { sweepIndex: -1, check };
}

describe("a sweep", () => {
  it("checks every entry, and lets entries leave during a check", async () => {
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

  it("checks no entry before the time until which it rests", async () => {
    const clock = new FakeClock();
    using sweep = new Sweep(clock);
    let checks = 0;
    const resting = {
      sweepIndex: -1,
      restsUntilMs: clock.ticksMs() + 1_000,
      check: () => {
        checks += 1;
      },
    };
    sweep.add(resting);
    await clock.advance(900);
    expect(checks).toBe(0);
    await clock.advance(100);
    expect(checks).toBe(1);
    resting.restsUntilMs = Number.POSITIVE_INFINITY;
    await clock.advance(60_000);
    resting.restsUntilMs = 0;
    await clock.advance(100);
    expect(checks).toBe(2);
  });

  it("runs no timer without entries", async () => {
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

  it("reports a gone Pod to its entries, also to those added a moment later", async () => {
    const clock = new FakeClock();
    using sweep = new Sweep(clock);
    const reported: string[] = [];
    const watchedIn = (name: string, podUid: string): Watched => {
      return {
        sweepIndex: -1,
        check: () => {},
        place: { podUid, ip: "10.0.0.1" },
        podGone: () => void reported.push(name),
      };
    };
    sweep.add(watchedIn("to another", "p2"));
    sweep.podGone({ podUid: "p1", ip: "10.0.0.1" });
    await clock.advance(10_000);
    const late = watchedIn("late", "p1");
    sweep.add(late);
    await clock.advance(100);
    expect(reported).toEqual(["late"]);
    sweep.remove(late);
    await clock.advance(30_000);
    sweep.add(watchedIn("after half a minute", "p1"));
    await clock.advance(100);
    expect(reported).toEqual(["late"]);
  });

  it("reports no address that the Pod got back to connections that were opened since", async () => {
    const clock = new FakeClock();
    const there = new Set<string>();
    using sweep = new Sweep(clock, ({ ip }) => there.has(ip));
    const reported: string[] = [];
    const place = { podUid: "p1", ip: "10.0.0.1" };
    const open = (name: string) =>
      sweep.add({ sweepIndex: -1, check: () => {}, place, podGone: () => void reported.push(name) });
    open("before");
    sweep.podGone(place);
    there.add(place.ip);
    await clock.advance(100);
    open("after");
    await clock.advance(1_000);
    expect(reported).toEqual(["before"]);
  });

  it("compares an entry with a lost address once, however long the loss is remembered", async () => {
    const clock = new FakeClock();
    using sweep = new Sweep(clock);
    let compared = 0;
    const told: string[] = [];
    const open = (podUid: string) => {
      sweep.add({
        sweepIndex: -1,
        check: () => {},
        podGone: () => void told.push(podUid),
        get place() {
          compared += 1;
          return { podUid, ip: "10.0.0.1" };
        },
      });
    };
    for (let each = 0; each < 100; each += 1) open(`p${each}`);
    sweep.podGone({ podUid: "p7", ip: "10.0.0.1" });
    await clock.advance(100);
    const atOnce = compared;
    await clock.advance(20_000);
    expect([told, compared]).toEqual([["p7"], atOnce]);
    open("p7");
    await clock.advance(5_000);
    expect(told).toEqual(["p7", "p7"]);
    expect(compared - atOnce).toBeLessThan(5);
  });
});
