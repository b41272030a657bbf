import { describe, expect, it } from "vitest";
import type { Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { onUnexpectedError } from "../../lib/guard/guard.ts";
import { aStored } from "../../test/support/fakes/scripted-collection.ts";
import { IndexedStore } from "./indexed-store.ts";

const withIps = (name: string, ...ips: readonly string[]): Stored<Pod> => ({
  ...aStored(name, "1"),
  status: { podIPs: ips.map((ip) => ({ ip })) },
});

const openStore = (options = {}) =>
  new IndexedStore<Pod, "ip">({ ip: ({ status }) => status?.podIPs?.map(({ ip }) => ip) ?? [] }, options);

const namesBy = (store: IndexedStore<Pod, "ip">, ip: string) => store.by("ip", ip).map(({ metadata }) => metadata.name);

describe("an indexed store", () => {
  it("finds an object by its key and under every value it has in an index", () => {
    const store = openStore();
    store.put(withIps("a", "10.0.0.1", "fd00::1"));
    store.put(withIps("b", "10.0.0.1"));
    expect(store.get("team/a")?.metadata.name).toBe("a");
    expect(namesBy(store, "10.0.0.1")).toEqual(["a", "b"]);
    expect(namesBy(store, "fd00::1")).toEqual(["a"]);
    expect(namesBy(store, "10.0.0.9")).toEqual([]);
    expect(store.size).toBe(2);
  });

  it("no longer finds an object under a value that it has left", () => {
    const store = openStore();
    store.put(withIps("a", "10.0.0.1"));
    store.put(withIps("a", "10.0.0.2"));
    expect(namesBy(store, "10.0.0.1")).toEqual([]);
    expect(namesBy(store, "10.0.0.2")).toEqual(["a"]);
    expect(store.size).toBe(1);
  });

  it("removes a deleted object from every index, and accepts a second deletion", () => {
    const store = openStore();
    store.put(withIps("a", "10.0.0.1"));
    store.delete("team/a");
    store.delete("team/a");
    expect(store.list()).toEqual([]);
    expect(store.get("team/a")).toBeUndefined();
    expect(namesBy(store, "10.0.0.1")).toEqual([]);
  });

  it("hands out lists that stay as they are while the store changes", () => {
    const store = openStore();
    store.put(withIps("a", "10.0.0.1"));
    const before = store.by("ip", "10.0.0.1");
    store.delete("team/a");
    expect(before).toHaveLength(1);
  });

  it("finds an object that an index cannot read by its key, and reports the error", () => {
    const places: string[] = [];
    using _reports = onUnexpectedError((where) => places.push(where));
    const fail = () => {
      throw new TypeError("no addresses");
    };
    const store = new IndexedStore<Pod, "broken">({ broken: fail });
    store.put(withIps("a", "10.0.0.1"));
    expect(store.get("team/a")).toBeDefined();
    store.delete("team/a");
    expect(store.size).toBe(0);
    expect(places).toEqual(["watch", "watch"]);
  });

  it("makes a change of a shared object fail, if configured", () => {
    const store = openStore({ frozen: true });
    store.put(withIps("a", "10.0.0.1"));
    const ips = store.get("team/a")?.status?.podIPs as { ip: string }[];
    expect(() => ips.push({ ip: "10.0.0.2" })).toThrow(TypeError);
  });
});
