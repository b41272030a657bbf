import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { Turns } from "../time/turns.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { type Outcome, startWorkers, type WorkOptions } from "./workers.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

function start(reconcile: WorkOptions["reconcile"], options: Partial<WorkOptions> = {}) {
  const clock = new FakeClock();
  const queue = new KeyedQueue(clock, { baseMs: 10, maxMs: 1_000, jitter: 0 });
  const failures: string[] = [];
  const onFailure = (key: string, error: unknown) => void failures.push(`${key}: ${(error as Error).message}`);
  const running = startWorkers({ name: "test", queue, workers: 2, reconcile, onFailure, ...options });
  return { clock, queue, failures, running };
}

describe("the workers of a queue", () => {
  it("have the configured number", async () => {
    const gate = Promise.withResolvers<void>();
    const begun: string[] = [];
    const { queue, running } = start(async (key) => {
      begun.push(key);
      await gate.promise;
      return {};
    });
    for (const key of ["a", "b", "c"]) queue.add(key);
    await settled();
    expect(begun).toEqual(["a", "b"]);
    gate.resolve();
    await settled();
    expect(begun).toEqual(["a", "b", "c"]);
    await running[Symbol.asyncDispose]();
  });

  it("retry a failed key after a backoff, and report the failure", async () => {
    let left = 2;
    const { clock, queue, failures, running } = start(async () => {
      left -= 1;
      if (left >= 0) throw new Error("not yet");
      return {};
    });
    queue.add("a");
    await clock.advance(0);
    expect(failures).toEqual(["a: not yet"]);
    await clock.advance(10);
    await clock.advance(20);
    expect(failures).toEqual(["a: not yet", "a: not yet"]);
    expect(queue.failures("a")).toBe(0);
    expect(clock.pending).toBe(0);
    await running[Symbol.asyncDispose]();
  });

  it("leave the event loop its turn, also if their passes await nothing and a key is added without end", async () => {
    let isOver = false;
    const { queue, running } = start(async (key) => {
      if (!isOver) queue.add(key);
      return {};
    });
    queue.add("a");
    await settled();
    isOver = true;
    await running[Symbol.asyncDispose]();
  });

  it("wait longer each time where a pass asks for a delay that is not a number", async () => {
    const { clock, queue, failures, running } = start(async () => ({ requeueAfterMs: Number.NaN }));
    queue.add("a");
    await clock.advance(10_000);
    // 10, 20, 40 and so on to 1 s, and then one a second.
    expect(failures).toHaveLength(16);
    expect(queue.failures("a")).toBe(16);
    await running[Symbol.asyncDispose]();
  });

  it("count an interrupted pass as no success, so the next failure waits longer", async () => {
    let pass = 0;
    const { clock, queue, running } = start(async () => {
      pass += 1;
      if (pass % 2 === 0) throw new Error("not yet");
      return { isInterrupted: true };
    });
    for (let failure = 1; failure <= 5; failure += 1) {
      queue.add("a");
      await clock.advance(0);
      queue.add("a");
      await clock.advance(0);
      expect(queue.failures("a")).toBe(failure);
    }
    await running[Symbol.asyncDispose]();
  });

  it("leave no timer of an object that is gone", async () => {
    let isThere = true;
    const { clock, queue, running } = start(async () => (isThere ? { requeueAfterMs: 86_400_000 } : {}));
    queue.add("a");
    await clock.advance(0);
    expect(clock.pending).toBe(1);
    isThere = false;
    queue.add("a");
    await clock.advance(0);
    expect(clock.pending).toBe(0);
    await running[Symbol.asyncDispose]();
  });

  it("reconcile again on request, without counting a failure", async () => {
    let rounds = 0;
    const { clock, queue, failures, running } = start(async () => {
      rounds += 1;
      return rounds === 1 ? { requeueAfterMs: 500 } : {};
    });
    queue.add("a");
    await clock.advance(499);
    expect(rounds).toBe(1);
    await clock.advance(1);
    expect(rounds).toBe(2);
    expect(failures).toEqual([]);
    await running[Symbol.asyncDispose]();
  });

  it("serve another namespace after a few long passes of a namespace that fills them all", async () => {
    const clock = new FakeClock();
    const turns = new Turns(clock);
    const { promise: served, resolve } = Promise.withResolvers<void>();
    let long = 0;
    const hold = () => {
      void clock.pause(100);
      long += 1;
    };
    const { queue, running } = start(
      async (key) => {
        if (key.startsWith("crowd/")) hold();
        // The turn of a write.
        await turns.rest(key.split("/")[0]);
        if (key.startsWith("crowd/")) hold();
        else resolve();
        return key.startsWith("crowd/") ? { requeueAfterMs: 10 } : {};
      },
      { workers: 100, turns },
    );
    for (let at = 0; at < 150; at += 1) queue.add(`crowd/${at}`);
    while (long < 30) await settled();
    queue.add("other/one");
    long = 0;
    await served;
    expect(long).toBeLessThan(8);
    await running[Symbol.asyncDispose]();
  });

  it("finish their keys when stopped, and take no more", async () => {
    const gate = Promise.withResolvers<void>();
    const ended: string[] = [];
    const { queue, running } = start(
      async (key) => {
        await gate.promise;
        ended.push(key);
        return {};
      },
      { workers: 1 },
    );
    queue.add("held");
    queue.add("waiting");
    await settled();
    const stopped = running[Symbol.asyncDispose]();
    gate.resolve();
    await stopped;
    expect(ended).toEqual(["held"]);
  });

  it("pass the abort signal to the work, and do not report its failure then", async () => {
    const { queue, failures, running } = start(
      (_key, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        }),
    );
    queue.add("a");
    await settled();
    await running[Symbol.asyncDispose]();
    expect(failures).toEqual([]);
  });
});

/** Each pass writes what it found on its own object, and the watch shows that during the pass, and once more after it. */
function startWriting(ends: () => Outcome) {
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
    const { clock, queue, counts, running } = startWriting(fail);
    queue.add("a");
    await clock.advance(9);
    expect(counts).toEqual({ passes: 1, told: 0 });
    await clock.advance(1);
    expect(counts.passes).toBe(2);
    await running[Symbol.asyncDispose]();
  });

  it("does not cause the next pass of a request that was rejected, before its delay", async () => {
    const { clock, queue, counts, running } = startWriting(() => rejected);
    queue.add("a");
    await clock.advance(4_999);
    expect(counts).toEqual({ passes: 1, told: 0 });
    await clock.advance(1);
    expect(counts.passes).toBe(2);
    await running[Symbol.asyncDispose]();
  });

  it("does not cause the next pass where failures and rejections take turns", async () => {
    let pass = 0;
    const { clock, queue, counts, running } = startWriting(() => {
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
    const { clock, queue, counts, running } = startWriting(() => {
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
    const { clock, queue, counts, running } = startWriting(() => {
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
  const { clock, queue, counts, running } = startWriting(fail);
  queue.add("a");
  await clock.advance(0);
  queue.add("a");
  await clock.advance(0);
  expect(counts.passes).toBe(2);
  await running[Symbol.asyncDispose]();
});
