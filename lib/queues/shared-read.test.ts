import { describe, expect, it } from "vitest";
import { SharedRead } from "./shared-read.ts";

function aRead() {
  const ends: PromiseWithResolvers<number>[] = [];
  const shared = new SharedRead(() => {
    const end = Promise.withResolvers<number>();
    ends.push(end);
    return end.promise;
  });
  return { shared, ends };
}

describe("a shared read", () => {
  it("answers no call with an earlier read, and all waiting calls with one", async () => {
    const { shared, ends } = aRead();
    const first = shared.get();
    const second = shared.get();
    const third = shared.get();
    expect(ends).toHaveLength(1);
    ends[0]?.resolve(1);
    expect(await first).toBe(1);
    await new Promise(setImmediate);
    expect(ends).toHaveLength(2);
    const fourth = shared.get();
    ends[1]?.resolve(2);
    expect(await Promise.all([second, third])).toEqual([2, 2]);
    await new Promise(setImmediate);
    ends[2]?.resolve(3);
    expect(await fourth).toBe(3);
    expect(ends).toHaveLength(3);
  });

  it("continues after a failure", async () => {
    const { shared, ends } = aRead();
    const first = shared.get();
    const second = shared.get();
    ends[0]?.reject(new Error("away"));
    await expect(first).rejects.toThrow("away");
    await new Promise(setImmediate);
    ends[1]?.resolve(2);
    expect(await second).toBe(2);
  });
});
