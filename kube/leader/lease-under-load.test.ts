import { expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { KeyedQueue } from "../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../lib/queues/workers.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { Turns } from "../../lib/time/turns.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startLeaderElection } from "./leader-election.ts";

const passMs = 250;
const passes = 12;
// A leader's times, six times as short.
const times = { leaseMs: 2_000, renewLimitMs: 1_500, retryMs: 200 };

/** What one turn of the event loop takes besides the passes. The calls to the API server need some of these turns. */
const turnMs = 5;

it("a leader keeps its lease while slow passes follow each other for twice as long as it may", async () => {
  await using api = await openMemoryApi();
  const where = { namespace: "default", name: "lease", identity: "one", times };
  const clock = new FakeClock();
  await using election = startLeaderElection({ client: api.client, clock, log: silentLogger, ...where });
  await election.elected;
  let done = 0;
  const queue = new KeyedQueue(clock);
  for (let at = 0; at < passes; at += 1) queue.add(`default/${at}`);
  await using _workers = startWorkers({
    name: "test",
    queue,
    workers: 4,
    turns: new Turns(clock),
    async reconcile() {
      // As work on large objects, which holds the event loop.
      clock.standStill(passMs);
      done += 1;
      return {};
    },
    onFailure: () => {},
  });
  while (done < passes) await clock.advance(turnMs);
  // The loss of leadership shows at the next renewal.
  const endMs = clock.ticksMs() + 2 * times.retryMs;
  while (clock.ticksMs() < endMs) await clock.advance(turnMs);
  expect(election.isLeader()).toBe(true);
}, 30_000);
