import { expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { KeyedQueue } from "../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../lib/queues/workers.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { Turns } from "../../lib/time/turns.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startLeaderElection } from "./leader-election.ts";

const passMs = 250;
const passes = 12;
// A leader's times, six times as short.
const times = { leaseMs: 2_000, renewLimitMs: 1_500, retryMs: 200 };

/** Blocks the event loop, as work on large objects does. */
function holdEventLoop(forMs: number): void {
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs);
}

it("a leader keeps its lease while slow passes follow each other for twice as long as it may", async () => {
  await using api = await openMemoryApi();
  const where = { namespace: "default", name: "lease", identity: "one", times };
  await using election = startLeaderElection({ client: api.client, clock: systemClock, log: silentLogger, ...where });
  await election.elected;
  const over = Promise.withResolvers<void>();
  let done = 0;
  const queue = new KeyedQueue(systemClock);
  for (let at = 0; at < passes; at += 1) queue.add(`default/${at}`);
  await using _workers = startWorkers({
    name: "test",
    queue,
    workers: 4,
    turns: new Turns(systemClock),
    async reconcile() {
      holdEventLoop(passMs);
      done += 1;
      if (done >= passes) over.resolve();
      return {};
    },
    onFailure: () => {},
  });
  // The loss of leadership shows at the next renewal.
  await Promise.race([over.promise.then(() => systemClock.sleep(2 * times.retryMs)), election.lost]);
  expect(election.isLeader()).toBe(true);
}, 30_000);
