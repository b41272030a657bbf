import { expect, it } from "vitest";
import { configMapType } from "../api/kinds/core.ts";
import { cpuMs } from "../test/support/cpu-time.ts";
import { openMemoryApi } from "../test/support/memory-api.ts";
import { parseLabelSelector } from "./http/selectors.ts";
import { endpointSliceKind } from "./kinds/builtin/endpoint-slice.ts";

// Work that grows with the square of the input takes many times as long.
const linearMs = 3_000;

it("the time to read a label selector grows with its length, and not with the square of it", () => {
  const text = Array.from({ length: 100_000 }, (_, at) => `k${at}`).join();
  expect(cpuMs(() => parseLabelSelector(`${text},last in (a,b)`))).toBeLessThan(linearMs);
  expect(cpuMs(() => expect(() => parseLabelSelector(",".repeat(100_000))).toThrow("unable to parse"))).toBeLessThan(
    linearMs,
  );
});

it("ports and endpoints of an EndpointSlice are counted before they are checked", () => {
  const object = { metadata: { name: "s" }, addressType: "IPv4" };
  const admission = { operation: "create", subresource: undefined, old: undefined, now: new Date() } as const;
  const causesOf = (parts: object) => endpointSliceKind.validate({ ...object, ...parts }, admission);
  const ports = Array.from({ length: 20_001 }, () => ({ name: "Not a name" }));
  expect(causesOf({ endpoints: [], ports })).toMatchObject([{ field: "ports" }]);
  const endpoints = Array.from({ length: 1_001 }, () => ({ addresses: ["nowhere"] }));
  expect(causesOf({ endpoints })).toMatchObject([{ field: "endpoints" }]);
});

it("the time to replace the owners of an object grows with their number, and not with the square of it", async () => {
  await using api = await openMemoryApi();
  const where = { namespace: "default", name: "owned" };
  const owned = (mark: string) => ({
    metadata: {
      ...where,
      ownerReferences: Array.from({ length: 20_000 }, (_, at) => ({
        apiVersion: "v",
        kind: "k",
        name: "n",
        uid: mark + at,
      })),
    },
  });
  await api.client.create(configMapType, owned("a"));
  const before = process.threadCpuUsage();
  await api.client.patch(configMapType, where, { type: "merge", body: owned("b") });
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(linearMs);
});
