import { expect, it } from "vitest";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import { HoldLimits, outsiderNumbers } from "./hold-limits.ts";

it("slots are lent up to each limit and returned once", () => {
  const slots = new HoldLimits({ total: 4, perNamespace: 3, perSandbox: 2 });
  const first = slots.lend("a", "x");
  slots.lend("a", "x");
  expect(() => slots.lend("a", "x")).toThrow("Too many requests are waiting.");
  slots.lend("a", "y");
  expect(() => slots.lend("a", "z")).toThrow("Too many requests are waiting.");
  slots.lend("b", "x");
  expect(() => slots.lend("c", "x")).toThrow("Too many requests are waiting.");
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect(slots.total).toBe(3);
  slots.lend("a", "x");
  expect(() => slots.lend("a", "x")).toThrow();
});

/** How many slots a namespace gets now. */
function taken(slots: HoldLimits, namespace: string): number {
  const before = slots.total;
  try {
    for (;;) slots.lend(namespace, "x");
  } catch {
    return slots.total - before;
  }
}

it("a namespace finds slots beside two others at their limit", () => {
  const slots = new HoldLimits({ total: 100, perNamespace: 50, perSandbox: 50 });
  expect(["a", "b", "c", "d", "e"].map((namespace) => taken(slots, namespace))).toEqual([50, 40, 5, 3, 1]);
  expect(slots.total).toBe(99);
});

it("a namespace may have all slots if its limit allows it", () => {
  const slots = new HoldLimits({ total: 100, perNamespace: 100, perSandbox: 100 });
  expect(taken(slots, "a")).toBe(100);
});

it("a returned slot leaves the other slots of its namespace and its sandbox counted", () => {
  const slots = new HoldLimits({ total: 100, perNamespace: 3, perSandbox: 3 });
  const returned = slots.lend("a", "x");
  slots.lend("a", "x");
  slots.lend("a", "y");
  returned[Symbol.dispose]();
  expect(taken(slots, "a")).toBe(1);
  const ofSandbox = new HoldLimits({ total: 100, perNamespace: 50, perSandbox: 2 });
  const first = ofSandbox.lend("a", "x");
  ofSandbox.lend("a", "x");
  first[Symbol.dispose]();
  expect(taken(ofSandbox, "a")).toBe(1);
});

it("a request with a large head takes a slot for each 8 KiB, so held heads take bounded memory", () => {
  const slots = new HoldLimits({ total: 100, perNamespace: 50, perSandbox: 20 });
  const large = slots.lend("a", "x", 65_536);
  expect(slots.total).toBe(8);
  slots.lend("a", "x", 8_192);
  slots.lend("a", "x", 8_193);
  expect(slots.total).toBe(11);
  slots.lend("a", "x", 65_536);
  expect(slots.total).toBe(19);
  slots.lend("a", "x", 65_536);
  expect(() => slots.lend("a", "x")).toThrow("Too many requests are waiting.");
  large[Symbol.dispose]();
  expect(slots.total).toBe(19);
  expect(taken(slots, "a")).toBe(1);
});

it("sandboxes and namespaces without a slot leave nothing in memory", async () => {
  const slots = new HoldLimits({ total: 10, perNamespace: 10, perSandbox: 10 });
  using _stays = slots.lend("a", "stays");
  const bytes = await heapBytesOf(() => {
    for (let n = 0; n < 20_000; n += 1) {
      slots.lend("a", `sandbox-${n}`)[Symbol.dispose]();
      slots.lend(`namespace-${n}`, "x")[Symbol.dispose]();
    }
  });
  expect(bytes).toBeLessThan(500_000);
  expect(slots.total).toBe(1);
});

it("outsiders have a quarter as many slots, and one at least", () => {
  expect(outsiderNumbers({ total: 10_000, perNamespace: 5_000, perSandbox: 1 })).toEqual({
    ...{ total: 2_500, perNamespace: 1_250, perSandbox: 1 },
  });
});
