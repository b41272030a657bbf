import { describe, expect, it } from "vitest";
import { cpuMs } from "../../test/support/cpu-time.ts";
import { StatusError } from "../status-errors.ts";
import { jsonPatch } from "./json-patch.ts";

it("a JSON patch has at most 10,000 operations", () => {
  const patchOf = (count: number) => Array.from({ length: count }, () => ({ op: "add", path: "/a", value: 1 }));
  expect(jsonPatch({ metadata: { name: "a" } }, patchOf(10_000))).toMatchObject({ a: 1 });
  let error: unknown;
  try {
    jsonPatch({ metadata: { name: "a" } }, patchOf(10_001));
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(StatusError);
  expect(error).toMatchObject({ code: 413 });
});

const rejected = expect.objectContaining({ code: 422 });
const copiesOf = (from: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({ op: "copy", from, path: `/data/copy${at}` }));

describe("the copies of a JSON patch", () => {
  const megabyte = { data: { text: "x".repeat(1_000_000) } };

  it("add at most 3 MiB together", () => {
    expect(jsonPatch(megabyte, copiesOf("/data/text", 3))).toMatchObject({ data: { copy2: megabyte.data.text } });
    expect(() => jsonPatch(megabyte, copiesOf("/data/text", 4))).toThrow(rejected);
  });

  it("cannot double a value until it fills the memory", () => {
    expect(() => jsonPatch({ data: { text: "0123456789" } }, copiesOf("/data", 10_000))).toThrow(rejected);
  });
});

describe("the keys of a JSON patch", () => {
  it("name no inherited property, so that no client changes a function of the process", () => {
    const add = { op: "add", path: "/data/toString/changed", value: 1 };
    expect(() => jsonPatch({ data: {} }, [add])).toThrow(rejected);
    expect(Object.prototype.toString).not.toHaveProperty("changed");
    expect(() => jsonPatch({ data: {} }, [{ op: "remove", path: "/data/valueOf" }])).toThrow(rejected);
    expect(() => jsonPatch({ data: {} }, [{ op: "copy", from: "/data/valueOf", path: "/a" }])).toThrow(rejected);
  });

  it("may be any word of JavaScript", () => {
    const patch = [
      { op: "test", path: "/data/constructor", value: "x" },
      { op: "copy", from: "/data/constructor", path: "/data/toString" },
      { op: "move", from: "/data/constructor", path: "/data/prototype" },
    ];
    expect(jsonPatch({ data: { constructor: "x" } }, patch)).toEqual({ data: { toString: "x", prototype: "x" } });
  });

  it("are rejected unless they are JSON pointers", () => {
    const misspelt = [
      { op: "add", path: "data", value: 1 },
      { op: "copy", from: 5, path: "/data/a" },
      { op: "move", path: "/data/a" },
    ];
    for (const operation of misspelt) expect(() => jsonPatch({ data: {} }, [operation])).toThrow(rejected);
  });
});

it("a JSON patch compares long lists at once", () => {
  const listOf = (value: number) => Array.from({ length: 100_000 }, () => value);
  const test = (value: readonly number[]) => jsonPatch({ list: listOf(0) }, [{ op: "test", path: "/list", value }]);
  expect(test(listOf(0))).toEqual({ list: listOf(0) });
  expect(() => test(listOf(1))).toThrow(rejected);
});

it("a JSON patch moves no value into itself, and applies operations in their order", () => {
  expect(() => jsonPatch({ a: { b: 1 } }, [{ op: "move", from: "/a", path: "/a/b" }])).toThrow(rejected);
  const patch = [
    { op: "move", from: "/list/0", path: "/list/1" },
    { op: "add", path: "/list/-", value: "c" },
    { op: "replace", path: "/list/0", value: "B" },
    { op: "remove", path: "/gone" },
  ];
  expect(jsonPatch({ list: ["a", "b"], gone: null }, patch)).toEqual({ list: ["B", "a", "c"] });
  for (const path of ["/list/length", "/list/3", "/list/01"]) {
    expect(() => jsonPatch({ list: ["a"] }, [{ op: "add", path, value: 1 }])).toThrow(rejected);
  }
});

it("a JSON patch that moves too many items of a list is rejected, and one that adds at its end is not", () => {
  const list = Array.from({ length: 300_000 }, (_, index) => index);
  const patchOf = (operation: object) => Array.from({ length: 200 }, () => operation);
  expect(() => jsonPatch({ list }, patchOf({ op: "remove", path: "/list/1" }))).toThrow("rejected our request");
  expect(jsonPatch({ list }, patchOf({ op: "add", path: "/list/-", value: 0 }))).toMatchObject({
    list: { length: 300_200 },
  });
});

describe("the keys of a list", () => {
  it("are its indexes, for each operation: no other key changes it", () => {
    const others = ["length", "__proto__", "foo", "0x0", "01", "1e0", " 0", "", "-1", "3", "1.0"];
    for (const key of others) {
      const place = `/list/${key}`;
      const all = [
        { op: "add", path: place, value: 1 },
        { op: "replace", path: place, value: 4_294_967_295 },
        { op: "remove", path: place },
        { op: "move", from: place, path: "/b" },
        { op: "move", from: "/a", path: place },
        { op: "copy", from: place, path: "/b" },
        { op: "copy", from: "/a", path: place },
        { op: "test", path: place, value: 2 },
      ];
      for (const operation of all) {
        expect(() => jsonPatch({ a: 1, list: ["x", "y"] }, [operation]), JSON.stringify(operation)).toThrow(rejected);
      }
    }
  });

  it("have a dash for the end, where only a new item can be", () => {
    expect(jsonPatch({ list: [1] }, [{ op: "add", path: "/list/-", value: 2 }])).toEqual({ list: [1, 2] });
    for (const op of ["replace", "remove"]) {
      expect(() => jsonPatch({ list: [1] }, [{ op, path: "/list/-", value: 2 }])).toThrow(rejected);
    }
  });
});

it("a JSON patch sets no prototype, but a key of that name", () => {
  const patched = jsonPatch({ data: {} }, [
    { op: "add", path: "/data/__proto__", value: { inherited: 1 } },
    { op: "copy", from: "/data", path: "/copy" },
    { op: "replace", path: "/copy/__proto__", value: "x" },
  ]);
  expect(JSON.stringify(patched)).toBe('{"data":{"__proto__":{"inherited":1}},"copy":{"__proto__":"x"}}');
  expect((patched as { data: object }).data).not.toHaveProperty("inherited");
});

it("an operation does not change the values of its patch", () => {
  const patch = [
    { op: "add", path: "/a", value: { b: 1 } },
    { op: "add", path: "/a/c", value: 2 },
  ];
  expect(jsonPatch({}, patch)).toEqual({ a: { b: 1, c: 2 } });
  expect(patch[0]).toEqual({ op: "add", path: "/a", value: { b: 1 } });
});

describe("the moves of a JSON patch", () => {
  const largeObject = { data: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, ""])), o: {} };
  const backAndForth = (first: string, second: string, count: number) =>
    Array.from({ length: count }, (_, at) =>
      at % 2 === 0 ? { op: "move", from: first, path: second } : { op: "move", from: second, path: first },
    );

  it("take no longer for a large value", () => {
    expect(cpuMs(() => jsonPatch(largeObject, backAndForth("/data", "/other", 10_000)))).toBeLessThan(3_000);
  });

  it("are rejected once too much was moved to a deeper place", () => {
    const patch = backAndForth("/data", "/o/data", 10_000);
    expect(cpuMs(() => expect(() => jsonPatch(largeObject, patch)).toThrow(rejected))).toBeLessThan(3_000);
    expect(jsonPatch({ data: { a: 1 }, o: {} }, patch.slice(0, 2))).toEqual({ data: { a: 1 }, o: {} });
  });

  it("nest no value without end", () => {
    const patch = Array.from({ length: 600 }, () => [
      { op: "add", path: "/next", value: {} },
      { op: "move", from: "/nest", path: "/next/nest" },
      { op: "move", from: "/next", path: "/nest" },
    ]);
    expect(() => jsonPatch({ nest: {} }, patch.flat())).toThrow(rejected);
    expect(jsonPatch({ nest: {} }, patch.slice(0, 10).flat())).toHaveProperty(["nest", "nest"]);
  });
});
