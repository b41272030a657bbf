import { describe, expect, it } from "vitest";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { readDeletion } from "./query.ts";

describe("the options of a deletion", () => {
  it("have a whole number of seconds as grace, in the body or in the query", () => {
    const graceOf = (body: unknown, query = "") => readDeletion(body, new URLSearchParams(query)).gracePeriodSeconds;
    expect(graceOf({ gracePeriodSeconds: 0 })).toBe(0);
    expect(graceOf({ gracePeriodSeconds: null })).toBeUndefined();
    expect(graceOf(undefined, "gracePeriodSeconds=7")).toBe(7);
    expect(() => graceOf(undefined, "gracePeriodSeconds=9223372036854775808")).toThrow("of type int64");
  });

  it.each<[string, unknown, string]>([
    [
      "a part of a second",
      { gracePeriodSeconds: 0.5 },
      "number 0.5 into Go struct field DeleteOptions.gracePeriodSeconds",
    ],
    ["more seconds than an int64 holds", { gracePeriodSeconds: 1e300 }, "number 1e+300 into"],
    ["seconds as text", { gracePeriodSeconds: "1" }, "string into Go struct field DeleteOptions.gracePeriodSeconds"],
    [
      "a UID that is a number",
      { preconditions: { uid: 5 } },
      "number 5 into Go struct field DeleteOptions.preconditions.uid",
    ],
    ["preconditions that are a list", { preconditions: [] }, "array into Go struct field DeleteOptions.preconditions"],
  ])("are rejected with %s", (_case, body, message) => {
    expect(() => readDeletion(body, new URLSearchParams())).toThrow(message);
  });
});

it.each([
  ["watch=1&sendInitialEvents=true", 422],
  ["watch=1&resourceVersionMatch=NotOlderThan", 422],
  ["resourceVersionMatch=Exact", 422],
  ["resourceVersion=2&resourceVersionMatch=Newest", 422],
  ["resourceVersion=0&resourceVersionMatch=Exact", 422],
  ["sendInitialEvents=true", 422],
  ["resourceVersion=1&resourceVersionMatch=Exact", 200],
  ["limit=abc", 400],
  ["limit=-1", 200],
  ["resourceVersion=1&resourceVersionMatch=NotOlderThan", 200],
])("a list with %s is answered with %i", async (query, code) => {
  await using api = await openMemoryApi();
  const response = await fetch(`${api.url}/api/v1/namespaces/default/configmaps?timeoutSeconds=1&${query}`);
  expect(response.status).toBe(code);
});

it("a deletion of a collection with options that no list may have is rejected, and deletes nothing", async () => {
  await using api = await openMemoryApi();
  const url = `${api.url}/api/v1/namespaces/default/configmaps`;
  const headers = { "content-type": "application/json" };
  await fetch(url, { method: "POST", headers, body: JSON.stringify({ metadata: { name: "kept" } }) });
  const rejected = await fetch(`${url}?resourceVersionMatch=Exact`, { method: "DELETE" });
  expect([rejected.status, (await fetch(`${url}/kept`)).status]).toEqual([422, 200]);
});
