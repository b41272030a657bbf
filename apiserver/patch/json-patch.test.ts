import { describe, expect, it } from "vitest";
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
