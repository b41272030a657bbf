import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { type Outcome, startWorkers } from "./workers.ts";

/** Each pass writes what it found on its own object, and the watch shows that during the pass, and once more after it. */
function start(ends: () => Outcome) {
  const clock = new FakeClock();
  const queue = new KeyedQueue(clock, { baseMs: 10, maxMs: 1_000, jitter: 0 });
  const counts = { passes: 0, told: 0 };
  const show = () => queue.addUnlessFailed("a", () => (counts.told += 1));
  const running = startWorkers({
    name: "test",
    queue,
    workers: 2,
    async reconcile() {
      counts.passes += 1;
      if (counts.passes > 1_000) return {};
      clock.after(1, show);
      show();
      return ends();
    },
    onFailure: () => {},
  });
  return { clock, queue, counts, running };
}

const fail = (): Outcome => {
  throw new Error("not yet");
};
const rejected: Outcome = { requeueAfterMs: 5_000, isRejected: true };

describe("what a failed pass has written", () => {
  it("does not cause the next pass before its backoff", async () => {
    const { clock, queue, counts, running } = start(fail);
    queue.add("a");
    await clock.advance(9);
    expect(counts).toEqual({ passes: 1, told: 0 });
    await clock.advance(1);
    expect(counts.passes).toBe(2);
    await running[Symbol.asyncDispose]();
  });

  it("does not cause the next pass of a request that was rejected, before its delay", async () => {
    const { clock, queue, counts, running } = start(() => rejected);
    queue.add("a");
    await clock.advance(4_999);
    expect(counts).toEqual({ passes: 1, told: 0 });
    await clock.advance(1);
    expect(counts.passes).toBe(2);
    await running[Symbol.asyncDispose]();
  });

  it("does not cause the next pass where failures and rejections take turns", async () => {
    let pass = 0;
    const { clock, queue, counts, running } = start(() => {
      pass += 1;
      return pass % 2 === 1 ? fail() : rejected;
    });
    queue.add("a");
    await clock.advance(5_009);
    expect(counts).toEqual({ passes: 2, told: 0 });
    await running[Symbol.asyncDispose]();
  });
});

describe("what a successful pass has written", () => {
  it("causes the next pass, which is told as an addition", async () => {
    let left = 2;
    const { clock, queue, counts, running } = start(() => {
      left -= 1;
      return left >= 0 ? { requeueAfterMs: 60_000 } : fail();
    });
    queue.add("a");
    await clock.advance(9);
    expect(counts).toEqual({ passes: 3, told: 2 });
    await running[Symbol.asyncDispose]();
  });

  it("causes the next pass again once a failure is over", async () => {
    let left = 1;
    const { clock, queue, counts, running } = start(() => {
      left -= 1;
      return left >= 0 ? fail() : {};
    });
    queue.add("a");
    await clock.advance(10);
    expect(counts.passes).toBeGreaterThan(2);
    await running[Symbol.asyncDispose]();
  });
});

it("another change of a failed key is not held back", async () => {
  const { clock, queue, counts, running } = start(fail);
  queue.add("a");
  await clock.advance(0);
  queue.add("a");
  await clock.advance(0);
  expect(counts.passes).toBe(2);
  await running[Symbol.asyncDispose]();
});
