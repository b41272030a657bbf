import { describe, expect, it } from "vitest";
import { FakeClock } from "./clock.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { startWorkers, type WorkOptions } from "./workers.ts";

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
  it("are as many as they were asked to be", async () => {
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

  it("try again after a backoff what failed, and tell of it", async () => {
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

  it("look again when they are told to, without it counting as a failure", async () => {
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

  it("finish what they hold when they are stopped, and take nothing more", async () => {
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

  it("hand the signal of their stop to the work, whose failure then is nobody's news", async () => {
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
