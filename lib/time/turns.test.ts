import { describe, expect, it } from "vitest";
import { FakeClock } from "./clock.ts";
import { Turns } from "./turns.ts";

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Workers with pauses between pieces of work of this duration. */
function start(pieceMs: number, workers: number) {
  const clock = new FakeClock();
  const turns = new Turns(clock);
  let done = 0;
  let stopped = false;
  const work = async () => {
    while (!stopped) {
      await turns.rest();
      // Nothing else runs meanwhile, as when the work blocks the event loop.
      void clock.pause(pieceMs);
      done += 1;
    }
  };
  for (let at = 0; at < workers; at += 1) void work();
  const stop = () => {
    stopped = true;
  };
  return { clock, done: () => done, stop };
}

describe("work that is done in turns", () => {
  it("yields to the event loop after 50 ms, for any amount of work", async () => {
    const { done, stop } = start(10, 1);
    await nextTurn();
    expect(done()).toBe(5);
    stop();
  });

  it("of several workers does one long piece in each turn of the event loop", async () => {
    const { done, stop } = start(100, 5);
    const counts: number[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      counts.push(done());
      await nextTurn();
    }
    const steps = counts.slice(1).map((count, at) => count - (counts[at] ?? 0));
    expect(Math.max(...steps)).toBe(1);
    expect(done()).toBeGreaterThan(3);
    stop();
  });

  it("rests for a quarter of a turn that was much too long, and for 250 ms at most", async () => {
    for (const { pieceMs, restMs } of [
      { pieceMs: 400, restMs: 100 },
      { pieceMs: 10_000, restMs: 250 },
    ]) {
      const { clock, done, stop } = start(pieceMs, 1);
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
      expect(done()).toBe(1);
      await clock.advance(restMs - 1);
      expect(done()).toBe(1);
      stop();
      await clock.advance(1);
      expect(done()).toBe(2);
    }
  });

  it("lets groups take turns, and in each continues work before it begins more", async () => {
    const clock = new FakeClock();
    const turns = new Turns(clock);
    const done: string[] = [];
    const work = async (group: string, stage: "begins" | "continues", name: string) => {
      await turns.rest(group, stage);
      void clock.pause(100);
      done.push(`${group}/${name}`);
    };
    for (let at = 0; at < 100; at += 1) void work("crowd", "begins", `first-${at}`);
    void work("crowd", "continues", "second");
    void work("other", "begins", "first");
    while (done.length < 4) await nextTurn();
    expect(done).toEqual(["crowd/second", "other/first", "crowd/first-0", "crowd/first-1"]);
  });

  it("does not wait where the turn is short", async () => {
    const turns = new Turns(new FakeClock());
    let done = 0;
    void (async () => {
      for (; done < 1_000; done += 1) await turns.rest();
    })();
    await nextTurn();
    expect(done).toBe(1_000);
  });
});
