import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, it } from "vitest";
import { onUnexpectedError } from "../guard/guard.ts";
import { afterEvents } from "./after-events.ts";
import { FakeClock, systemClock } from "./clock.ts";

function standStill(forMs: number): void {
  const beganMs = systemClock.ticksMs();
  while (systemClock.ticksMs() - beganMs < forMs);
}

it("a connection that was made in time comes before its limit, in a process that stood still", async () => {
  await using server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const events: string[] = [];
  const { promise: over, resolve } = Promise.withResolvers<void>();
  afterEvents(systemClock, 50, () => {
    events.push("limit");
    resolve();
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.once("connect", () => events.push("connected"));
  process.nextTick(() => standStill(150));
  await over;
  expect(events).toEqual(["connected", "limit"]);
  socket.destroy();
});

it("a limit runs once its time is over, and not after it was cancelled", async () => {
  const clock = new FakeClock();
  const events: string[] = [];
  afterEvents(clock, 50, () => events.push("first"));
  const second = afterEvents(clock, 50, () => events.push("second"));
  await clock.advance(49);
  expect(events).toEqual([]);
  second.cancel();
  await clock.advance(1);
  expect([events, clock.pending]).toEqual([["first"], 0]);
});

it("a limit can be cancelled by the last event before it", async () => {
  const events: string[] = [];
  const timer = { cancel() {}, [Symbol.dispose]() {} };
  let timeIsUp = () => {};
  const clock = Object.assign(new FakeClock(), {
    after(_: number, task: () => void) {
      timeIsUp = task;
      return timer;
    },
  });
  const limit = afterEvents(clock, 50, () => events.push("limit"));
  timeIsUp();
  limit.cancel();
  await new Promise((resolve) => setImmediate(resolve));
  expect(events).toEqual([]);
});

it("an error at a limit is reported, and harms nothing else", async () => {
  const reports: unknown[] = [];
  using _reports = onUnexpectedError((...report) => reports.push(report));
  const clock = new FakeClock();
  const wrong = new Error("wrong");
  afterEvents(clock, 0, () => {
    throw wrong;
  });
  await clock.advance(0);
  expect(reports).toEqual([["timer", wrong]]);
});
