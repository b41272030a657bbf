import { expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { UsedTime } from "./used-time.ts";

it("a key is over its limit until it has got back what it used beyond it", async () => {
  const clock = new FakeClock();
  const used = new UsedTime({ burstMs: 1_000, share: 0.5 }, clock);
  used.add("a", 1_000);
  expect(used.isOver("a")).toBe(false);
  used.add("a", 500);
  expect([used.isOver("a"), used.isOver("b")]).toEqual([true, false]);
  await clock.advance(999);
  expect(used.isOver("a")).toBe(true);
  await clock.advance(1);
  expect(used.isOver("a")).toBe(false);
});

it("a key that has got back all that it used takes no memory", async () => {
  const clock = new FakeClock();
  const used = new UsedTime({ burstMs: 1_000, share: 0.5 }, clock);
  for (let key = 0; key < 100; key += 1) used.add(String(key), 10);
  expect(used.size).toBe(100);
  await clock.advance(20);
  used.add("a", 10);
  expect(used.size).toBe(1);
});
