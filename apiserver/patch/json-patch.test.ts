import { expect, it } from "vitest";
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
