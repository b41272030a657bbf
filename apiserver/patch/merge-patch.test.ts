import { describe, expect, it } from "vitest";
import { mergePatch } from "./merge-patch.ts";

describe("a merge patch", () => {
  // RFC 7386, appendix A.
  it.each([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("turns %j with %j into %j", (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it("takes __proto__ for a name like any other", () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}'));
    expect(JSON.stringify(merged)).toBe('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
  });
});
