import { constants } from "node:buffer";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { type MemoryApi, openMemoryApi } from "../../test/support/memory-api.ts";
import { quotaBytesMax, quotaForHeap, weightOf } from "./quota.ts";
import { Storage } from "./storage.ts";

const named = (name: string) => ({ name, namespace: "default" });
const full = { code: 507, reason: "InsufficientStorage" };
const refusedWith = (why: string) => ({ ...full, message: expect.stringContaining(why) });

const create = ({ client }: MemoryApi, name: string, bytes: number, finalizers: readonly string[] = []) =>
  client.create(configMapType, { metadata: { ...named(name), finalizers }, data: { text: "x".repeat(bytes) } });

const change = ({ client }: MemoryApi, name: string, bytes: number) =>
  client.patch(configMapType, named(name), { type: "merge", body: { data: { text: "x".repeat(bytes) } } });

/** The objects of the server itself take a part of it. */
const quotaBytes = 6_000_000;

/** Creates objects until one is rejected. Returns their number. */
async function fill(api: MemoryApi): Promise<number> {
  for (let count = 0; ; count += 1) {
    try {
      await create(api, `filler-${count}`, 100_000, count === 0 ? ["example.com/held"] : []);
    } catch (error) {
      expect(error).toMatchObject(full);
      return count;
    }
  }
}

describe("objects that reach the quota", () => {
  it("are read and deleted as ever, and then new ones are stored again", async () => {
    await using api = await openMemoryApi({ quotaBytes });
    expect(await fill(api)).toBeGreaterThan(2);
    const why = `more than nine tenths (the limit for new objects) of their quota of ${quotaBytes} bytes`;
    await expect(create(api, "another", 100_000)).rejects.toMatchObject(refusedWith(why));
    expect((await api.client.get(configMapType, named("filler-1"))).data?.["text"]).toHaveLength(100_000);
    await api.client.delete(configMapType, named("filler-1"));
    await create(api, "another", 90_000);
  });

  it("can be changed a little, made smaller, and marked as deleted", async () => {
    await using api = await openMemoryApi({ quotaBytes });
    await fill(api);
    await change(api, "filler-1", 101_000);
    const why = `would take more than their quota of ${quotaBytes} bytes`;
    await expect(change(api, "filler-2", 900_000)).rejects.toMatchObject(refusedWith(why));
    await change(api, "filler-1", 10);
    await api.client.delete(configMapType, named("filler-0"));
    expect((await api.client.get(configMapType, named("filler-0"))).metadata.deletionTimestamp).toBeDefined();
  });

  it("are all there after a start, also with a smaller quota", async () => {
    await using dir = await mkdtempDisposable(join(tmpdir(), "rouse-quota-"));
    let count = 0;
    {
      await using api = await openMemoryApi({ quotaBytes, dataDir: dir.path });
      count = await fill(api);
    }
    await using api = await openMemoryApi({ quotaBytes: 1, dataDir: dir.path });
    expect((await api.client.list(configMapType, { namespace: "default" })).items).toHaveLength(count);
    await expect(create(api, "another", 10)).rejects.toMatchObject(full);
    await api.client.delete(configMapType, named("filler-1"));
  });
});

it("the quota follows the limit of the heap", () => {
  expect(quotaForHeap(1_600)).toBe(200);
  expect(quotaForHeap()).toBeGreaterThan(1_000_000);
  expect(quotaForHeap(16 * 1024 ** 3)).toBe(quotaBytesMax);
  expect(quotaBytesMax).toBeLessThan(constants.MAX_STRING_LENGTH);
});

it.each([
  ["empty objects", JSON.stringify(Array.from({ length: 1_000 }, () => ({})))],
  ["short keys", JSON.stringify(Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [at.toString(36), ""])))],
])("an object of %s counts what it takes in memory, and not its text alone", (_shape, json) => {
  expect(weightOf(json)).toBeGreaterThan(200_000);
  expect(weightOf(json)).toBeGreaterThan(json.length * 10);
});

it("the weight of all objects is the same after changes, deletions and a start", () => {
  const storage = new Storage();
  const thing = (name: string, items: number) => ({
    metadata: { name, uid: name, creationTimestamp: "2026-01-01T00:00:00Z" },
    items: Array.from({ length: items }, () => ({})),
  });
  for (const name of ["a", "b", "c"]) storage.put("things", thing(name, 1_000));
  storage.put("things", thing("a", 10));
  storage.remove("things", thing("b", 1_000));
  expect(storage.weight).toBeGreaterThan(200_000);
  expect(new Storage(storage.state()).weight).toBe(storage.weight);
});
