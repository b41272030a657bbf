import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { TokenBucket } from "./token-bucket.ts";

function open(perSecond: number) {
  const clock = new FakeClock();
  return { clock, bucket: new TokenBucket(perSecond, clock) };
}

it("gives a second's worth at once and then keeps the pace", async () => {
  const { clock, bucket } = open(2);
  expect(bucket.take(10)).toEqual({ granted: 2 });
  expect(bucket.take(8)).toEqual({ granted: 0, nextMs: 500 });
  await clock.advance(499);
  expect(bucket.take(8)).toEqual({ granted: 0, nextMs: 1 });
  await clock.advance(1);
  expect(bucket.take(8)).toEqual({ granted: 1 });
  await clock.advance(60_000);
  expect(bucket.take(7)).toEqual({ granted: 2 });
});

it("a slow one gives its first at once and the next after two seconds", async () => {
  const { clock, bucket } = open(0.5);
  expect(bucket.take(2)).toEqual({ granted: 1 });
  expect(bucket.take(1)).toEqual({ granted: 0, nextMs: 2_000 });
  await clock.advance(2_000);
  expect(bucket.take(1)).toEqual({ granted: 1 });
});

it("says a time after which there really is one, however odd the rate", async () => {
  const { clock, bucket } = open(0.7);
  bucket.take(1);
  for (let round = 0; round < 20; round += 1) {
    const { nextMs = 0 } = bucket.take(1);
    await clock.advance(nextMs);
    expect(bucket.take(1)).toEqual({ granted: 1 });
  }
});

it("a huge rate is no limit, and no rate is none either", () => {
  expect(open(1e12).bucket.take(300)).toEqual({ granted: 300 });
  expect(open(0).bucket.take(300)).toEqual({ granted: 300 });
});

it("takes back what was not used, and holds no more than a second's worth", () => {
  const { bucket } = open(3);
  expect(bucket.take(3)).toEqual({ granted: 3 });
  bucket.giveBack(3);
  expect(bucket.take(3)).toEqual({ granted: 3 });
  bucket.giveBack(30);
  expect(bucket.take(30)).toEqual({ granted: 3 });
});
