import { describe, expect, it } from "vitest";
import { StatusError } from "../status-errors.ts";
import { Storage } from "../storage/storage.ts";
import { WatchHub } from "./watch-hub.ts";

const aThing = (name: string) => ({ metadata: { name, uid: name, creationTimestamp: "2026-01-01T00:00:00Z" } });

function hubOver(storage: Storage, historyLength: number, historyWeightMax = 2 ** 20): WatchHub {
  const hub = new WatchHub(storage.version, { historyLength, historyWeightMax });
  storage.onCommit((commit) => hub.publish(commit));
  return hub;
}

describe("the history of a collection", () => {
  it("returns the commits after a version, of one collection", () => {
    const storage = new Storage();
    const hub = hubOver(storage, 10);
    const first = storage.put("things", aThing("a"));
    storage.put("others", aThing("x"));
    storage.put("things", aThing("b"));
    storage.remove("things", aThing("a"));
    const version = Number(first.object.metadata.resourceVersion);
    const received = hub.since("things", version).map(({ type, entry }) => `${type} ${entry.object.metadata.name}`);
    expect(received).toEqual(["ADDED b", "DELETED a"]);
  });

  it("forgets the oldest commits, and answers requests for them with 410", () => {
    const storage = new Storage();
    const hub = hubOver(storage, 2);
    const { version } = storage;
    for (const name of ["a", "b", "c", "d", "e"]) storage.put("things", aThing(name));
    expect(hub.since("things", version + 3)).toHaveLength(2);
    expect(() => hub.since("things", version + 2)).toThrow(StatusError);
    expect(() => hub.since("things", version + 2)).toThrow(`too old resource version: ${version + 2} (${version + 3})`);
  });

  it("forgets the older half of the largest history once all of them weigh too much", () => {
    const storage = new Storage();
    const hub = hubOver(storage, 1_000, 10_000);
    const { version } = storage;
    storage.put("others", aThing("small"));
    for (let index = 0; index < 100; index += 1) {
      const { metadata } = aThing(`t${index}`);
      storage.put("things", { metadata: { ...metadata, labels: { long: "x".repeat(1_000) } } });
    }
    expect(hub.since("others", version)).toHaveLength(1);
    const last = storage.version;
    expect(hub.since("things", last - 3)).toHaveLength(3);
    expect(() => hub.since("things", last - 10)).toThrow("too old resource version");
  });

  it("counts what an object weighed before it was made smaller, which the history keeps", () => {
    const storage = new Storage();
    const things = Array.from({ length: 20 }, (_, index) => aThing(`t${index}`).metadata);
    for (const metadata of things)
      storage.put("things", { metadata: { ...metadata, labels: { long: "x".repeat(1_000) } } });
    const hub = hubOver(storage, 1_000, 10_000);
    const { version } = storage;
    for (const metadata of things) storage.put("things", { metadata });
    expect(() => hub.since("things", version)).toThrow("too old resource version");
    expect(hub.since("things", storage.version - 2)).toHaveLength(2);
  });

  it("has a commit that weighs more than all histories may only for watches that are open", () => {
    const storage = new Storage();
    const hub = hubOver(storage, 10, 50);
    const { version } = storage;
    const received: string[] = [];
    using _listening = hub.listen("things", ({ entry }) => void received.push(entry.object.metadata.name));
    storage.put("things", aThing("a"));
    expect(received).toEqual(["a"]);
    expect(() => hub.since("things", version)).toThrow("too old resource version");
  });

  it("knows no commits from before its start", () => {
    const storage = new Storage();
    storage.put("things", aThing("a"));
    const hub = hubOver(storage, 10);
    expect(() => hub.since("things", storage.version - 1)).toThrow("too old resource version");
    expect(hub.since("things", storage.version)).toEqual([]);
  });
});
