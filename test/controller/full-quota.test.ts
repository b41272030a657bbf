import { expect, it } from "vitest";
import { ApiError } from "../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { interceptCalls } from "../support/fakes/intercepted-client.ts";
import { openSleepLab } from "../support/labs/sleep-lab.ts";

const exceeded = new ApiError(403, {
  ...{ apiVersion: "v1", kind: "Status", code: 403, reason: "Forbidden" },
  message: 'pods "nova" is forbidden: exceeded quota: q',
});

it("a woken sandbox gets its Pod within half a minute of room in its quota", { timeout: 60_000 }, async () => {
  await using lab = await openSleepLab();
  const clock = new FakeClock(systemClock.now());
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1_000);
      await systemClock.sleep(2);
    }
  };
  const quota = { isFull: true, attempts: 0 };
  const client = interceptCalls(lab.client, async (call, proceed) => {
    if (call.verb !== "create" || call.kind !== "Pod") return proceed();
    quota.attempts += 1;
    if (quota.isFull) throw exceeded;
    return proceed();
  });
  await using _controller = await lab.startController({ client, clock });
  await lab.create({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  await lab.change({ operatingMode: "Running" });
  await pass(720);
  // A dozen attempts until the delay is half a minute, and one every 15 to 30 seconds after that.
  expect(quota.attempts).toBeGreaterThan(30);
  expect(quota.attempts).toBeLessThan(70);
  quota.isFull = false;
  await pass(32);
  expect(await lab.pod()).toBeDefined();
});
