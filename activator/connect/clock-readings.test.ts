import { expect, it } from "vitest";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { httpProgram, openActivatorWorld, rawConnection } from "../../test/support/labs/activator-world.ts";

/** Counts the readings of the wall clock. */
function countingClock() {
  const counted = { readings: 0 };
  const clock: Clock = {
    now() {
      counted.readings += 1;
      return systemClock.now();
    },
    ticksMs: () => systemClock.ticksMs(),
    after: (delayMs, task) => systemClock.after(delayMs, task),
    sleep: (delayMs, signal) => systemClock.sleep(delayMs, signal),
  };
  return { clock, counted };
}

it("a request on idle connections reads the wall clock twice at most", async () => {
  const { clock, counted } = countingClock();
  await using world = await openActivatorWorld([], {}, { clock });
  await world.awake(
    "nova",
    httpProgram((_, response) => response.end("here")),
  );
  using client = await rawConnection(world.activator);
  const readings: number[] = [];
  for (let answers = 1; answers <= 20; answers += 1) {
    const before = counted.readings;
    client.send("GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\n\r\n");
    await eventually(() => client.received.split("here").length > answers);
    readings.push(counted.readings - before);
  }
  // The least: what else runs in the activator reads the clock, too.
  expect(Math.min(...readings)).toBeLessThanOrEqual(2);
});
