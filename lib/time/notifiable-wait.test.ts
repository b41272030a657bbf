import { expect, it } from "vitest";
import { FakeClock } from "./clock.ts";
import { NotifiableWait } from "./notifiable-wait.ts";

const never = new AbortController().signal;

function waiting(limitMs: number, signal = never) {
  const clock = new FakeClock();
  const notifiable = new NotifiableWait(clock);
  const wait = async () => {
    await notifiable.wait(limitMs, signal);
    return clock.ticksMs();
  };
  return { clock, notifiable, wait };
}

it("a wait ends when notified, at its limit, or when it is aborted, and leaves no timer", async () => {
  const stop = new AbortController();
  const { clock, notifiable, wait } = waiting(1_000, stop.signal);
  const notified = wait();
  await clock.advance(300);
  notifiable.notify();
  expect(await notified).toBe(300);
  const whole = wait();
  await clock.advance(5_000);
  await whole;
  const aborted = wait();
  stop.abort();
  await aborted;
  await wait();
  expect(clock.pending).toBe(0);
});

it("a notification during no wait ends the next wait, and no later wait", async () => {
  const { clock, notifiable, wait } = waiting(1_000);
  notifiable.notify();
  notifiable.notify();
  expect(await wait()).toBe(0);
  const next = wait();
  await clock.advance(999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(await next).toBe(1_000);
});
