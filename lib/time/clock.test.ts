import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { onUnexpectedError } from "../guard/guard.ts";
import { FakeClock, systemClock } from "./clock.ts";

const day = 86_400_000;

describe("the system clock", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("runs a task once, after its delay", () => {
    const task = vi.fn();
    systemClock.after(1_000, task);
    vi.advanceTimersByTime(999);
    expect(task).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10_000);
    expect(task).toHaveBeenCalledOnce();
  });

  it("waits longer than a timer of Node can", () => {
    const task = vi.fn();
    systemClock.after(60 * day, task);
    vi.advanceTimersByTime(60 * day - 1);
    expect(task).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    vi.advanceTimersToNextTimer(); // its turn, after the events of the sockets
    expect(task).toHaveBeenCalledOnce();
  });

  it("runs no task that the last event before it has cancelled", () => {
    const task = vi.fn();
    const timer = systemClock.after(1_000, task);
    vi.advanceTimersToNextTimer(); // its time is up, and the events of the sockets come first
    expect([task.mock.calls.length, vi.getTimerCount()]).toEqual([0, 1]);
    timer.cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("runs no cancelled timer, in any part of a long delay", () => {
    const task = vi.fn();
    const timer = systemClock.after(60 * day, task);
    vi.advanceTimersByTime(40 * day);
    timer.cancel();
    vi.advanceTimersByTime(40 * day);
    expect(task).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("the system clock runs no task before the events that came in time, in a process that stood still", async () => {
  await using server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const events: string[] = [];
  const { promise: over, resolve } = Promise.withResolvers<void>();
  systemClock.after(50, () => {
    events.push("limit");
    resolve();
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.once("connect", () => events.push("connected"));
  process.nextTick(() => {
    for (const beganMs = systemClock.ticksMs(); systemClock.ticksMs() - beganMs < 150; );
  });
  await over;
  expect(events).toEqual(["connected", "limit"]);
  socket.destroy();
});

it("the system clock's monotonic time moves forward while it sleeps", async () => {
  const beganMs = systemClock.ticksMs();
  await systemClock.sleep(5);
  expect(systemClock.ticksMs()).toBeGreaterThan(beganMs);
});

describe("a fake clock", () => {
  it("stands still until it is moved", async () => {
    const clock = new FakeClock("2026-03-01T12:00:00Z");
    expect(clock.now().toISOString()).toBe("2026-03-01T12:00:00.000Z");
    await clock.advance(1_500);
    expect(clock.now().toISOString()).toBe("2026-03-01T12:00:01.500Z");
    expect(clock.ticksMs()).toBe(1_500);
  });

  it("runs due timers in order and on time, and no later ones", async () => {
    const clock = new FakeClock();
    const ran: string[] = [];
    clock.after(20, () => ran.push(`second at ${clock.ticksMs()}`));
    clock.after(10, () => ran.push(`first at ${clock.ticksMs()}`));
    clock.after(31, () => ran.push("too late"));
    await clock.advance(30);
    expect(ran).toEqual(["first at 10", "second at 20"]);
    expect(clock.pending).toBe(1);
  });

  it("runs due timers that a task or its promises start", async () => {
    const clock = new FakeClock();
    const woke: number[] = [];
    const work = (async () => {
      for (let round = 0; round < 3; round += 1) {
        await clock.sleep(10);
        woke.push(clock.ticksMs());
      }
    })();
    await clock.advance(30);
    await work;
    expect(woke).toEqual([10, 20, 30]);
  });

  it("advances to the next timer that becomes due, and no further", async () => {
    const clock = new FakeClock();
    const ran: number[] = [];
    for (const dueMs of [70, 1_000_000]) clock.after(dueMs, () => ran.push(clock.ticksMs()));
    await clock.advanceToNext();
    expect([clock.ticksMs(), ...ran]).toEqual([70, 70]);
    await clock.advanceToNext();
    await clock.advanceToNext();
    expect([clock.ticksMs(), ...ran]).toEqual([1_000_000, 70, 1_000_000]);
  });

  it("runs what became due during a stand-still when it is advanced, and not back in time", async () => {
    const clock = new FakeClock();
    const ran: number[] = [];
    clock.after(10, () => ran.push(clock.ticksMs()));
    clock.standStill(100);
    expect(ran).toEqual([]);
    await clock.advance(5);
    expect(ran).toEqual([100]);
    expect(clock.ticksMs()).toBe(105);
  });

  it("does not move back after a task that stood still for longer than it is advanced", async () => {
    const clock = new FakeClock();
    clock.after(10, () => clock.standStill(100));
    await clock.advance(20);
    expect(clock.ticksMs()).toBe(110);
  });

  it("jumps on the wall without moving monotonic time", () => {
    const clock = new FakeClock("2026-03-01T12:00:00Z");
    clock.jumpWall(-3_600_000);
    expect(clock.now().toISOString()).toBe("2026-03-01T11:00:00.000Z");
    expect(clock.ticksMs()).toBe(0);
  });

  it("forgets a timer that is called off or disposed of", () => {
    const clock = new FakeClock();
    clock.after(10, () => {}).cancel();
    {
      using _timer = clock.after(10, () => {});
      expect(clock.pending).toBe(1);
    }
    expect(clock.pending).toBe(0);
  });
});

describe("a delay that is not a number", () => {
  it.each([
    ["the system's clock", systemClock],
    ["a clock for tests", new FakeClock()],
  ])("is refused by %s", async (_name, clock) => {
    expect(() => clock.after(Number.NaN, () => {})).toThrow(RangeError);
    await expect(clock.sleep(Number.NaN)).rejects.toThrow(RangeError);
  });
});

describe("a sleep", () => {
  it("ends with the signal's reason as soon as it is aborted, and leaves no timer", async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const sleep = clock.sleep(10, stop.signal);
    stop.abort(new Error("enough"));
    await expect(sleep).rejects.toThrow("enough");
    expect(clock.pending).toBe(0);
  });

  it("does not begin under a signal that is aborted already", async () => {
    const clock = new FakeClock();
    await expect(clock.sleep(10, AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
    expect(clock.pending).toBe(0);
  });
});

it("a task of the system's clock that throws stops no other task", async () => {
  const places: string[] = [];
  using _reports = onUnexpectedError((where) => places.push(where));
  systemClock.after(0, () => {
    throw new Error("broken");
  });
  await systemClock.sleep(5);
  expect(places).toEqual(["timer"]);
});
