import { expect, it } from "vitest";
import { FakeClock } from "./clock.ts";
import { OncePerMinute } from "./once-per-minute.ts";

it("each kind may be logged once a minute", async () => {
  const clock = new FakeClock();
  const lines = new OncePerMinute(clock);
  const asked = () => ["a", "b", "a"].map((key) => lines.asks(key));
  expect(asked()).toEqual([true, true, false]);
  await clock.advance(59_999);
  expect(asked()).toEqual([false, false, false]);
  await clock.advance(1);
  expect(asked()).toEqual([true, true, false]);
});

it("at most a thousand kinds may be logged in a minute", async () => {
  const clock = new FakeClock();
  const lines = new OncePerMinute(clock);
  const logged = () => Array.from({ length: 5_000 }, (_, n) => lines.asks(`${n}`)).filter(Boolean).length;
  expect(logged()).toBe(1_000);
  expect(logged()).toBe(0);
  await clock.advance(60_000);
  expect(logged()).toBe(1_000);
});
