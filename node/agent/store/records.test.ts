import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Files } from "../doors/files.ts";
import { Records, type Tombstone } from "./records.ts";

const tombstone = (index: number): Tombstone => ({
  ...{ namespace: "default", pod: `guest${index}`, image: `pod-${index}`, podUID: `u${index}`, isFinal: false },
});

/** Counts the files that are read, and how many at once. */
class CountingFiles extends Files {
  reads = 0;
  mostAtOnce = 0;
  isBroken = false;
  #now = 0;

  override async read(path: string): Promise<string | undefined> {
    this.reads += 1;
    this.#now += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#now);
    const text = await super.read(path).finally(() => {
      this.#now -= 1;
    });
    return text;
  }

  override async sync(path: string): Promise<void> {
    await super.sync(path);
    if (this.isBroken) throw new Error("input/output error");
  }
}

function open(count: number) {
  const folder = mkdtempDisposableSync(join(tmpdir(), "rouse-records-"));
  mkdirSync(join(folder.path, "tombstones"));
  for (let index = 0; index < count; index += 1) {
    writeFileSync(join(folder.path, "tombstones", `u${index}.json`), JSON.stringify(tombstone(index)));
  }
  const files = new CountingFiles();
  return { files, records: new Records(folder.path, files), [Symbol.dispose]: () => folder.remove() };
}

describe("the records of a node", () => {
  it("are read once, and a few at a time, however many passes ask for them", async () => {
    using world = open(500);
    for (let index = 0; index < 500; index += 1) {
      expect((await world.records.ofImage(tombstone(index))).tombstone).toEqual(tombstone(index));
    }
    expect(await world.records.keys()).toHaveLength(500);
    expect(world.files.reads).toBe(500);
    expect(world.files.mostAtOnce).toBeLessThanOrEqual(16);
  });

  it("follow each change", async () => {
    using world = open(1);
    await expect(world.records.createTombstone(tombstone(0))).rejects.toThrow("EEXIST");
    await world.records.createTombstone(tombstone(1));
    await world.records.finalize(tombstone(0), "/none");
    expect((await world.records.ofImage(tombstone(0))).tombstone?.isFinal).toBe(true);
    expect(await world.records.tombstoneOf("u1")).toEqual(tombstone(1));
    await world.records.writeFailed({ ...tombstone(1), reason: "DiskFull", message: "" });
    await world.records.removeTombstone("u1");
    expect(await world.records.ofImage(tombstone(1))).toMatchObject({ tombstone: undefined, failed: { podUID: "u1" } });
  });

  it("are what the disk has after a change that has failed", async () => {
    using world = open(1);
    world.files.isBroken = true;
    await expect(world.records.removeTombstone("u0")).rejects.toThrow("input/output");
    expect(await world.records.ofImage(tombstone(0))).toEqual({ tombstone: undefined, failed: undefined });
  });
});
