import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { ReplenishDelay } from "./replenish-delay.ts";

function open(delayMs: number) {
  const clock = new FakeClock();
  return { clock, hold: new ReplenishDelay(delayMs, clock) };
}

it("without a delay never holds", () => {
  const { hold } = open(0);
  expect(hold.waitMs(5, 5)).toBe(0);
  expect(hold.waitMs(2, 5)).toBe(0);
});

it("holds from the last loss on", async () => {
  const { clock, hold } = open(10_000);
  hold.waitMs(5, 5);
  expect(hold.waitMs(4, 5)).toBe(10_000);
  await clock.advance(6_000);
  expect(hold.waitMs(4, 5)).toBe(4_000);
  expect(hold.waitMs(3, 5)).toBe(10_000);
  await clock.advance(10_000);
  expect(hold.waitMs(3, 5)).toBe(0);
});

it("does not hold a pool that it sees for the first time", () => {
  const { hold } = open(10_000);
  expect(hold.waitMs(0, 5)).toBe(0);
  expect(hold.waitMs(0, 5)).toBe(0);
});

it("takes the loss of a member that was just made for a loss", () => {
  const { hold } = open(10_000);
  hold.waitMs(0, 5);
  hold.made(5);
  expect(hold.waitMs(4, 5)).toBe(10_000);
});

it("ends when the pool is full, also because less is asked for", () => {
  const { hold } = open(10_000);
  hold.waitMs(5, 5);
  expect(hold.waitMs(3, 5)).toBe(10_000);
  expect(hold.waitMs(3, 3)).toBe(0);
  expect(hold.waitMs(3, 5)).toBe(0);
});
