import { describe, expect, it } from "vitest";
import { cpuMs } from "../../test/support/cpu-time.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { nestingMax } from "../json-values.ts";
import { refuseGrownValue, valuesMax } from "./body-shape.ts";

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const empties = (count: number) => Array(count).fill("{}").join(",");
const policy = (ingress: string) => `{"metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[${ingress}]}}`;

const core = "/api/v1/namespaces/default/configmaps";
const policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";

describe("a body", () => {
  it.each([
    ["many empty objects", "POST", policies, "application/json", policy(empties(valuesMax)), 413],
    ["many empty objects in YAML", "POST", policies, "application/yaml", policy(empties(valuesMax)), 413],
    ["deep nesting", "POST", core, "application/json", `{"metadata":{"name":"a"},"data":${nested(5_000)}}`, 400],
    ["deep nesting", "PATCH", `${core}/b`, "application/merge-patch+json", nested(5_000), 400],
    ["deep nesting", "PATCH", `${core}/b`, "application/strategic-merge-patch+json", nested(5_000), 400],
  ])("with %s in a %s to %s as %s is rejected", async (_what, method, path, type, body, code) => {
    await using api = await openMemoryApi();
    const send = (how: string, where: string, contentType: string, text: string) =>
      fetch(api.url + where, { method: how, headers: { "content-type": contentType }, body: text });
    expect((await send("POST", core, "application/json", '{"metadata":{"name":"b"}}')).status).toBe(201);
    const response = await send(method, path, type, body);
    expect(await response.json()).toMatchObject({ code });
  });
});

it("a JSON patch cannot nest values deeper than a body", async () => {
  await using api = await openMemoryApi();
  const send = (method: string, where: string, type: string, body: string) =>
    fetch(api.url + where, { method, headers: { "content-type": type }, body });
  await send("POST", core, "application/json", '{"metadata":{"name":"b"}}');
  const value = JSON.parse(nested(nestingMax / 2));
  const bottom = `/data${"/a".repeat(nestingMax / 2 - 1)}`;
  const patch = [
    { op: "add", path: "/data", value },
    { op: "copy", from: "/data", path: `${bottom}/b` },
    { op: "copy", from: "/data", path: `${bottom}/c` },
  ];
  const response = await send("PATCH", `${core}/b`, "application/json-patch+json", JSON.stringify(patch));
  expect(response.status).toBe(422);
});

it("what a patch makes is measured no further than its bound", () => {
  const list: unknown[] = [];
  list.length = 50_000_000;
  const refuse = () => refuseGrownValue({ list }, {});
  expect(cpuMs(() => expect(refuse).toThrow(expect.objectContaining({ code: 413 })))).toBeLessThan(200);
});
