import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { KeyedQueue } from "../../lib/queues/keyed-queue.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { createRuntimeMetrics } from "./runtime-metrics.ts";

it("metrics have the time for which workers hold their current keys", async () => {
  const clock = new FakeClock();
  const registry = new Registry();
  const meter = createRuntimeMetrics(registry, clock).ofController({
    ...{ name: "tested", workers: 2 },
    queue: new KeyedQueue(clock),
  });
  const ofQueue = 'name="tested",controller="tested"';
  const heldS = async () => {
    const text = await registry.metrics();
    return ["unfinished_work_seconds", "longest_running_processor_seconds"].map((family) =>
      Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`workqueue_${family}{${ofQueue}}`))
          ?.split(" ")[1],
      ),
    );
  };
  const first = Promise.withResolvers<object>();
  const second = Promise.withResolvers<object>();
  const working = [meter.reconciled("a", () => first.promise)];
  await clock.advance(3_000);
  working.push(meter.reconciled("b", () => second.promise));
  await clock.advance(1_000);
  expect(await heldS()).toEqual([5, 4]);
  first.resolve({});
  second.resolve({});
  await Promise.all(working);
  expect(await heldS()).toEqual([0, 0]);
});
