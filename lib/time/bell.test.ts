import { expect, it } from "vitest";
import { Bell } from "./bell.ts";
import { FakeClock } from "./clock.ts";

const never = new AbortController().signal;

function resting(limitMs: number, signal = never) {
  const clock = new FakeClock();
  const bell = new Bell(clock);
  const rest = async () => {
    await bell.rest(limitMs, signal);
    return clock.ticksMs();
  };
  return { clock, bell, rest };
}

it("a rest ends at a ring, at its limit, or when it is called off, and leaves no timer", async () => {
  const stop = new AbortController();
  const { clock, bell, rest } = resting(1_000, stop.signal);
  const rung = rest();
  await clock.advance(300);
  bell.ring();
  expect(await rung).toBe(300);
  const whole = rest();
  await clock.advance(5_000);
  await whole;
  const calledOff = rest();
  stop.abort();
  await calledOff;
  await rest();
  expect(clock.pending).toBe(0);
});

it("a ring without a rest ends the next rest, and none after that", async () => {
  const { clock, bell, rest } = resting(1_000);
  bell.ring();
  bell.ring();
  expect(await rest()).toBe(0);
  const next = rest();
  await clock.advance(999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(await next).toBe(1_000);
});
