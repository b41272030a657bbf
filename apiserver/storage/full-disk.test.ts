import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configMapType, namespaceType } from "../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { KindRegistry } from "../kind-registry.ts";
import { servedKinds } from "../kinds/served-kinds.ts";
import { startObjectStore } from "../start-object-store.ts";
import { resourceName } from "../status-errors.ts";
import { type DataDir, openDataDir } from "./data-dir.ts";
import type { StorageState } from "./storage.ts";
import { emptyState } from "./storage.ts";

const events = "events";
const configMaps = resourceName(configMapType);
const namespaces = resourceName(namespaceType);
const minuteMs = 60_000;

const anObject = (kind: string, name: string, metadata: object = {}): Stored<KubeObject> => ({
  apiVersion: "v1",
  kind,
  metadata: {
    name,
    uid: `uid-of-${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    resourceVersion: "1",
    ...metadata,
  },
});

/** The objects of an API server whose disk is full for the writes of these numbers, counted from 1. */
function storeOnADisk(isFullAt: (write: number) => boolean) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = createLogger("a test", "warn", { write: (line) => lines.push(line) });
  let writes = 0;
  let isCounting = false;
  const dataDir: DataDir = {
    state: emptyState,
    found: false,
    record: () => {
      if (!isCounting) return;
      writes += 1;
      if (isFullAt(writes))
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    },
    compactIfDue: (_state: () => StorageState) => {},
    makeRoom: () => false,
    [Symbol.dispose]: () => {},
  };
  const objects = startObjectStore({ clock, log, kinds: new KindRegistry(servedKinds()), dataDir });
  const count = () => {
    isCounting = true;
  };
  return { clock, lines, objects, count, writes: () => writes };
}

/** Leaves to the controllers: two old events, a ConfigMap without its owner, and a namespace that is deleted with its content. */
function leaveWork({ storage, deletion }: ReturnType<typeof startObjectStore>): void {
  for (const name of ["a", "b"]) storage.put(events, anObject("Event", name, { namespace: "default" }));
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "uid-of-nobody" };
  storage.put(configMaps, anObject("ConfigMap", "child", { namespace: "default", ownerReferences: [owner] }));
  storage.put(namespaces, anObject("Namespace", "leaving"));
  storage.put(configMaps, anObject("ConfigMap", "inside", { namespace: "leaving" }));
  const options = { uid: "uid-of-leaving", propagationPolicy: "Background", dryRun: false } as const;
  const kind = servedKinds().find(({ type }) => type.kind === "Namespace");
  if (kind) deletion.delete(kind, undefined, "leaving", options);
}

/** From now on the controllers work, and writes are counted. Returns the errors that end the API server. */
function beginWork(store: ReturnType<typeof startObjectStore>, count: () => void): readonly unknown[] {
  const failures: unknown[] = [];
  store.failed.catch((error: unknown) => failures.push(error));
  leaveWork(store);
  count();
  return failures;
}

const work = (storage: ReturnType<typeof startObjectStore>["storage"]) => ({
  events: storage.size(events),
  configMaps: storage.size(configMaps),
  leaving: storage.get(namespaces, undefined, "leaving") !== undefined,
});

describe("an API server whose disk is full", () => {
  const done = { events: 0, configMaps: 0, leaving: false };

  it("warns once a minute that old events stay, and removes them when there is space again", async () => {
    let isFull = true;
    const { clock, lines, objects, count } = storeOnADisk(() => isFull);
    await using store = objects;
    const failures = beginWork(store, count);
    await clock.advance(60 * minuteMs);
    lines.length = 0;
    for (let minute = 0; minute < 3; minute += 1) await clock.advance(minuteMs);
    expect(lines.filter((line) => line.includes("could not remove old events"))).toHaveLength(3);
    expect(failures).toEqual([]);
    expect(store.storage.size(events)).toBe(2);
    isFull = false;
    await clock.advance(20 * minuteMs);
    expect(work(store.storage)).toEqual(done);
  });

  it("deletes within 30 s after there is space again what it could not delete for 12 minutes", async () => {
    let isFull = true;
    const { clock, objects, count } = storeOnADisk(() => isFull);
    await using store = objects;
    const failures = beginWork(store, count);
    await clock.advance(12 * minuteMs);
    expect(work(store.storage)).toMatchObject({ configMaps: 2, leaving: true });
    isFull = false;
    await clock.advance(minuteMs / 2);
    expect(work(store.storage)).toMatchObject({ configMaps: 0, leaving: false });
    expect(failures).toEqual([]);
  });

  it("goes on after a failure of each of its writes in turn, and completes all of its work", async () => {
    const whole = storeOnADisk(() => false);
    leaveWork(whole.objects);
    whole.count();
    await whole.clock.advance(62 * minuteMs);
    await whole.objects[Symbol.asyncDispose]();
    expect(whole.writes()).toBeGreaterThan(4);
    for (let nth = 1; nth <= whole.writes(); nth += 1) {
      const { clock, objects, count } = storeOnADisk((write) => write === nth);
      await using store = objects;
      const failures = beginWork(store, count);
      await clock.advance(62 * minuteMs);
      await clock.advance(minuteMs);
      expect({ nth, failures, ...work(store.storage) }).toEqual({ nth, failures: [], ...done });
    }
  });
});

describe("a snapshot that could not be completed", () => {
  it("does not take the space that the journal needs, also after a crash", async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), "rouse-full-"));
    writeFileSync(join(directory.path, "snapshot.new"), "torn by a crash");
    using dataDir = openDataDir(directory.path);
    expect(existsSync(join(directory.path, "snapshot.new"))).toBe(false);
    // A folder has the name of the snapshot, so the renaming fails.
    mkdirSync(join(directory.path, "snapshot"));
    const entry = { object: anObject("ConfigMap", "big"), json: `"${"x".repeat(17 * 1024 * 1024)}"`, weight: 0 };
    dataDir.record({ type: "ADDED", resource: configMaps, version: 2, entry, previous: undefined });
    expect(() => dataDir.compactIfDue(() => emptyState)).toThrow("EISDIR");
    expect(readdirSync(directory.path).sort()).toEqual(["journal", "lock", "lock.pipe", "snapshot"]);
    rmdirSync(join(directory.path, "snapshot"));
  });
});
