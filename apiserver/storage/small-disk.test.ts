import { rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { canMountDisks, mountSmallDisk } from "../../test/support/labs/small-disk.ts";
import { type MemoryApi, openMemoryApi } from "../../test/support/memory-api.ts";

const kibibyte = 1024;
const namespace = "default";
const text = (kibibytes: number, turn = 0) => ({ text: `${turn} ${"x".repeat(kibibytes * kibibyte)}` });

const create = ({ client }: MemoryApi, name: string, kibibytes: number) =>
  client.create(configMapType, { metadata: { name, namespace }, data: text(kibibytes) });

const update = ({ client }: MemoryApi, name: string, data: object) =>
  client.patch(configMapType, { name, namespace }, { type: "merge", body: { data } });

/** Every object and its version: what a restart must give back. */
async function contentOf({ client }: MemoryApi) {
  const { items } = await client.list(configMapType, { namespace });
  return items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
}

const freeBytes = (path: string) => {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
};

/** Creates objects until the disk takes no more. Returns the error. */
async function fill(api: MemoryApi): Promise<unknown> {
  for (let at = 0; ; at += 1) {
    try {
      await create(api, `filler-${at}`, 200);
    } catch (error) {
      return error;
    }
  }
}

// Where no disk can be mounted these tests do not run; full-disk.test.ts has errors of the disk without one.
describe.runIf(canMountDisks)("an API server on a small disk", () => {
  it("writes four times the size of its disk, because it compacts its journal in time", async () => {
    await using disk = await mountSmallDisk(8);
    const path = join(disk.path, "api");
    let before: readonly string[] = [];
    {
      await using api = await openMemoryApi({ dataDir: path });
      for (const name of ["a", "b", "c", "d", "e"]) await create(api, name, 300);
      for (let turn = 0; turn < 300; turn += 1) await update(api, "a", text(100, turn));
      before = await contentOf(api);
    }
    await using api = await openMemoryApi({ dataDir: path });
    expect(await contentOf(api)).toEqual(before);
    expect((await api.client.get(configMapType, { name: "a", namespace })).data).toEqual(text(100, 299));
  });

  it("rejects writes with 507 when the disk is full, keeps what it has, and goes on when there is space", async () => {
    await using disk = await mountSmallDisk(8);
    const path = join(disk.path, "api");
    const lines: string[] = [];
    const log = createLogger("a test", "error", { write: (line) => lines.push(line) });
    const clock = new FakeClock();
    let before: readonly string[] = [];
    {
      await using api = await openMemoryApi({ dataDir: path, log, clock });
      const other = join(disk.path, "of another program");
      writeFileSync(other, Buffer.alloc(3 * kibibyte * kibibyte));
      const error = await fill(api);
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({
        code: 507,
        reason: "InsufficientStorage",
        status: { status: "Failure", code: 507 },
      });
      expect(String(error)).toContain("the disk of the API server is full");
      const filled = await contentOf(api);
      await expect(create(api, "another", 300)).rejects.toMatchObject({ code: 507 });
      expect(await contentOf(api)).toEqual(filled);
      expect(lines.filter((line) => line.includes("rejects writes"))).toHaveLength(1);
      expect(lines).toHaveLength(1);
      rmSync(other);
      await create(api, "another", 300);
      before = await contentOf(api);
      expect(before).toHaveLength(filled.length + 1);
    }
    await using api = await openMemoryApi({ dataDir: path });
    expect(await contentOf(api)).toEqual(before);
  });

  it("has everything after a crash on a full disk that it acknowledged before", async () => {
    await using disk = await mountSmallDisk(4);
    const path = join(disk.path, "api");
    await using api = await openMemoryApi({ dataDir: path });
    await fill(api);
    const before = await contentOf(api);
    // As after a crash: the directory is read while the server still has it.
    for (const file of ["lock", "lock.pipe"]) rmSync(join(path, file));
    await using again = await openMemoryApi({ dataDir: path });
    expect(await contentOf(again)).toEqual(before);
  });

  it("compacts its journal to make room for a write that does not fit", async () => {
    await using disk = await mountSmallDisk(12);
    const path = join(disk.path, "api");
    await using api = await openMemoryApi({ dataDir: path });
    await create(api, "a", 100);
    for (let turn = 0; turn < 40; turn += 1) await update(api, "a", text(100, turn));
    expect(statSync(join(path, "journal")).size).toBeGreaterThan(4_000 * kibibyte);
    // Another program takes all at once but a little more than the state.
    writeFileSync(join(disk.path, "of another program"), Buffer.alloc(freeBytes(disk.path) - 900 * kibibyte));
    await create(api, "b", 1_200);
    expect(statSync(join(path, "journal")).size).toBeLessThan(1_300 * kibibyte);
    expect(await contentOf(api)).toHaveLength(2);
  });
});
