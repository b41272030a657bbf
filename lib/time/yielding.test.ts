import { describe, expect, it } from "vitest";
import { onUnexpectedError } from "../guard/guard.ts";
import { forEachYielding } from "./yielding.ts";

const numbers = (count: number) => new Set(Array.from({ length: count }, (_, n) => n));

describe("work for many items", () => {
  it("is done in several turns of the event loop", async () => {
    const items = numbers(1_000);
    const handled: number[] = [];
    const done = forEachYielding(items, (item) => handled.push(item));
    expect(handled.length).toBeGreaterThan(1);
    expect(handled.length).toBeLessThan(100);
    await done;
    expect(handled).toEqual([...items]);
  });

  it("is not done for an item that leaves between two turns", async () => {
    const items = numbers(1_000);
    const handled: number[] = [];
    const done = forEachYielding(items, (item) => {
      items.delete(item);
      handled.push(item);
    });
    const handledAtOnce = handled.length;
    items.clear();
    await done;
    expect(handled).toHaveLength(handledAtOnce);
  });

  it("is done for the items after one that fails", async () => {
    const errors: unknown[] = [];
    using _listening = onUnexpectedError((_, error) => errors.push(error));
    const handled: number[] = [];
    await forEachYielding(numbers(3), (item) => {
      if (item === 1) throw new Error("no");
      handled.push(item);
    });
    expect(handled).toEqual([0, 2]);
    expect(errors).toEqual([new Error("no")]);
  });
});
