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
