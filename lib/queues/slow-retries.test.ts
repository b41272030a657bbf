import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { SlowRetries } from "./slow-retries.ts";

function open() {
  const clock = new FakeClock();
  return { clock, retries: new SlowRetries(clock) };
}

/** The delay of each rejection in a row, each one at its time. */
async function delays(count: number): Promise<readonly number[]> {
  const { clock, retries } = open();
  const seen: number[] = [];
  while (seen.length < count) {
    const delayMs = retries.rejected("lab/nova", "1");
    seen.push(delayMs);
    await clock.advance(delayMs);
  }
  return seen;
}

/** The number of retries of each group within an hour, where each of these keys is rejected each time. */
async function retriesInAnHour(groups: number, keysOfEach: number): Promise<readonly number[]> {
  const { clock, retries } = open();
  const made = Array.from({ length: groups }, () => 0);
  /** By the second in which they are due. */
  const due = new Map<number, string[]>();
  const reject = (key: string) => {
    const second = Math.ceil((clock.ticksMs() + retries.rejected(key, "1")) / 1_000);
    due.set(second, [...(due.get(second) ?? []), key]);
  };
  for (let index = 0; index < keysOfEach; index += 1) {
    for (let group = 0; group < groups; group += 1) reject(`${group}/${index}`);
  }
  for (let second = 1; second <= 3_600; second += 1) {
    await clock.advance(1_000);
    for (const key of due.get(second) ?? []) {
      made[Number.parseInt(key, 10)] = (made[Number.parseInt(key, 10)] ?? 0) + 1;
      reject(key);
    }
    due.delete(second);
  }
  return made;
}

describe("a key whose request is rejected again and again", () => {
  it("is retried after ten seconds, then twice as long each time, up to ten minutes", async () => {
    const fullMs = [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000];
    const seen = await delays(fullMs.length);
    for (const [at, delayMs] of seen.entries()) {
      expect(delayMs).toBeLessThanOrEqual(fullMs[at] ?? 0);
      expect(delayMs).toBeGreaterThanOrEqual((fullMs[at] ?? 0) * 0.8);
    }
  });

  it("is not retried later for a rejection before its time, as in a pass for another reason", async () => {
    const { clock, retries } = open();
    const firstMs = retries.rejected("lab/nova", "1");
    for (let pass = 1; pass <= 5; pass += 1) {
      await clock.advance(1_000);
      expect(retries.rejected("lab/nova", "1")).toBeCloseTo(firstMs - pass * 1_000);
    }
  });

  it.each(["is changed", "is accepted in between"])("begins anew once it %s", async (what) => {
    const { clock, retries } = open();
    for (let rejection = 0; rejection < 8; rejection += 1) await clock.advance(retries.rejected("lab/nova", "1"));
    if (what === "is accepted in between") retries.forget("lab/nova");
    const subject = what === "is changed" ? "2" : "1";
    expect(retries.rejected("lab/nova", subject)).toBeLessThanOrEqual(10_000);
  });

  it("leaves nothing behind once it is forgotten", () => {
    const { retries } = open();
    for (let index = 0; index < 1_000; index += 1) retries.rejected(`lab/${index}`, "1");
    for (let index = 0; index < 1_000; index += 1) retries.forget(`lab/${index}`);
    expect(retries.size).toBe(0);
    expect(retries.rejected("lab/nova", "1")).toBeLessThanOrEqual(10_000);
  });
});

describe("many rejected keys", () => {
  it("of one namespace are retried twice a second at most, and those of another as ever", async () => {
    const { retries } = open();
    for (let index = 0; index < 20_000; index += 1) retries.rejected(`crowd/${index}`, "1");
    expect(retries.rejected("crowd/last", "1")).toBeGreaterThan(0.8 * 10_000_000);
    // 1,200 of the crowd count for others: that many are retried in ten minutes.
    expect(retries.rejected("other/nova", "1")).toBeLessThanOrEqual(60_100);
    const [made] = await retriesInAnHour(1, 3_000);
    expect(made).toBeLessThan(2 * 3_600 * 1.3);
  });

  it("of many namespaces are retried twenty times a second at most, each namespace alike", async () => {
    const all = await retriesInAnHour(40, 400);
    expect(all.reduce((sum, count) => sum + count, 0)).toBeLessThan(20 * 3_600 * 1.3);
    expect(Math.min(...all)).toBeGreaterThan(Math.max(...all) / 2);
  });
});
