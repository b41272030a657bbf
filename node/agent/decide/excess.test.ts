import { describe, expect, it } from "vitest";
import { excessOf } from "./excess.ts";

const key = { namespace: "shop", pod: "web", image: "g1" };
const sizes = [
  { key: { ...key, image: "g0" }, bytes: 20, isPartial: false },
  { key, bytes: 25, isPartial: true },
  { key: { namespace: "shop2", pod: "web", image: "g2" }, bytes: 5, isPartial: true },
];
const limits = { maxStoreBytes: 100, minFreeBytes: 0, maxNamespacePercent: 50 };
const store = { sizes, promises: new Map([["shop2/web/g2", 40]]), freeBytes: 1_000, limits };

describe("a capture that has written more than it promised", () => {
  it.each([
    [30, undefined],
    [31, "NamespaceFull"],
    [40, "NamespaceFull"],
    [41, "StoreFull"],
  ])("has room for %i bytes beside what others have and were promised: %s", (bytes, reason) => {
    expect(excessOf({ key, bytes, promisedBytes: 10 }, store)).toBe(reason);
    expect(excessOf({ key, bytes, promisedBytes: bytes }, store), "it keeps its promise").toBeUndefined();
  });

  it("has the share of its namespace in a disk without a limit of bytes", () => {
    const onDisk = { ...store, limits: { ...limits, maxStoreBytes: 0 }, freeBytes: 55 };
    // 20 and 5 of others, its own, and what is free.
    expect(excessOf({ key, bytes: 40, promisedBytes: 10 }, onDisk)).toBeUndefined();
    expect(excessOf({ key, bytes: 41, promisedBytes: 10 }, onDisk)).toBe("NamespaceFull");
  });
});
