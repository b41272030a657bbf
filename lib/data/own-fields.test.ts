import { describe, expect, it } from "vitest";
import { ownField, setField } from "./own-fields.ts";

describe("the value of a key from user input", () => {
  it("is the object's own, never an inherited one", () => {
    const object: unknown = JSON.parse('{"__proto__": 1, "toString": 2}');
    const read = (key: string) => ownField(object as Record<string, unknown>, key);
    expect(["__proto__", "toString", "constructor", "valueOf"].map(read)).toEqual([1, 2, undefined, undefined]);
    expect(ownField(undefined, "constructor")).toBeUndefined();
  });

  it("can be set under any key, and changes no other", () => {
    const object: Record<string, unknown> = {};
    for (const key of ["__proto__", "constructor", "a"]) setField(object, key, key);
    expect(Object.entries(object)).toEqual([
      ["__proto__", "__proto__"],
      ["constructor", "constructor"],
      ["a", "a"],
    ]);
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
  });
});
