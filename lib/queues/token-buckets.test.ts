import { expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { TokenBuckets } from "./token-buckets.ts";

it("a key may burst, then goes at its rate, and knows in advance how long it has to wait", async () => {
  const clock = new FakeClock();
  const buckets = new TokenBuckets({ perSecond: 10, burst: 2 }, clock);
  expect([buckets.take("a", 150), buckets.take("a", 150), buckets.take("a", 150)]).toEqual([0, 0, 100]);
  expect(buckets.take("a", 150)).toBeUndefined();
  expect(buckets.take("b", 0)).toBe(0);
  await clock.advance(200);
  expect(buckets.take("a", 0)).toBe(0);
});

it("a returned permit can be taken again, and no bucket exceeds its burst", async () => {
  const clock = new FakeClock();
  const buckets = new TokenBuckets({ perSecond: 10, burst: 2 }, clock);
  buckets.giveBack("a");
  buckets.take("a", 0);
  buckets.take("a", 0);
  buckets.giveBack("a");
  expect([buckets.take("a", 0), buckets.take("a", 0)]).toEqual([0, undefined]);
  for (let time = 0; time < 5; time += 1) buckets.giveBack("a");
  expect([buckets.take("a", 0), buckets.take("a", 0), buckets.take("a", 0)]).toEqual([0, 0, undefined]);
});

it("a key that has spent more than its burst is overdrawn until it has got that back", async () => {
  const clock = new FakeClock();
  const used = new TokenBuckets({ perSecond: 500, burst: 1_000 }, clock);
  used.spend("a", 1_000);
  expect(used.overdraft("a")).toBe(0);
  used.spend("a", 500);
  expect([used.overdraft("a"), used.overdraft("b")]).toEqual([500, 0]);
  await clock.advance(998);
  expect(used.overdraft("a")).toBe(1);
  await clock.advance(2);
  expect(used.overdraft("a")).toBe(0);
});

it("a key that has got back all that it spent takes no memory", async () => {
  const clock = new FakeClock();
  const used = new TokenBuckets({ perSecond: 500, burst: 1_000 }, clock);
  for (let key = 0; key < 100; key += 1) used.spend(String(key), 10);
  expect(used.size).toBe(100);
  await clock.advance(20);
  used.spend("a", 10);
  expect(used.size).toBe(1);
});
