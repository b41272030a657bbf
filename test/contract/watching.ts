import { describe, expect, it } from "vitest";
import type { AnyEvent, ContractApi, OpenContractApi } from "./contract-api.ts";
import { aConfigMap, configMapsOf } from "./subjects.ts";

const merge = "application/merge-patch+json";

async function paint(api: ContractApi, name: string, color: string) {
  return (await api.call("PATCH", `${configMapsOf(api)}/${name}`, { body: { data: { color } }, contentType: merge }))
    .object;
}

async function create(api: ContractApi, name: string, metadata: object = {}) {
  const body = { ...aConfigMap(name), metadata: { name, ...metadata } };
  return (await api.call("POST", configMapsOf(api), { body })).object;
}

const seen = (event: AnyEvent | undefined) => `${event?.type} ${event?.object.metadata?.name}`;

export function describeWatching(where: string, open: OpenContractApi): void {
  describe(`watching ${where}`, () => {
    it.each(["watch=true", "watch=True", "watch=1"])("streams for %s", async (spelling) => {
      await using api = await open();
      const { list } = await api.call("GET", configMapsOf(api));
      using watch = await api.watch(
        `${configMapsOf(api)}?${spelling}&resourceVersion=${list.metadata.resourceVersion}`,
      );
      const added = await create(api, "a");
      expect(await watch.next()).toEqual({ type: "ADDED", object: added });
      const painted = await paint(api, "a", "red");
      expect(await watch.next()).toEqual({ type: "MODIFIED", object: painted });
      await api.call("DELETE", `${configMapsOf(api)}/a`);
      const deleted = await watch.next();
      expect(seen(deleted)).toBe("DELETED a");
      expect(Number(deleted?.object.metadata.resourceVersion)).toBeGreaterThan(
        Number(painted.metadata.resourceVersion),
      );
    });

    it("reports all changes after a version, in order", async () => {
      await using api = await open();
      const first = await create(api, "a");
      await create(api, "b");
      await paint(api, "a", "red");
      await api.call("DELETE", `${configMapsOf(api)}/b`);
      const from = first.metadata.resourceVersion;
      using watch = await api.watch(`${configMapsOf(api)}?watch=true&resourceVersion=${from}`);
      const events = [await watch.next(), await watch.next(), await watch.next()];
      expect(events.map(seen)).toEqual(["ADDED b", "MODIFIED a", "DELETED b"]);
    });

    it.each(["", "&resourceVersion=0"])(
      "begins with the existing objects if no version is given (%s)",
      async (version) => {
        await using api = await open();
        await create(api, "a");
        using watch = await api.watch(`${configMapsOf(api)}?watch=true&fieldSelector=metadata.name%3Da${version}`);
        expect(seen(await watch.next())).toBe("ADDED a");
        await paint(api, "a", "red");
        expect(seen(await watch.next())).toBe("MODIFIED a");
      },
    );

    it("waits for a future version", async () => {
      await using api = await open();
      const first = await create(api, "a");
      const next = Number((await create(api, "b")).metadata.resourceVersion) + 1;
      expect(next).toBeGreaterThan(Number(first.metadata.resourceVersion));
      using watch = await api.watch(`${configMapsOf(api)}?watch=true&resourceVersion=${next}&timeoutSeconds=5`);
      await paint(api, "a", "red");
      const second = await paint(api, "a", "green");
      let event = await watch.next();
      while (event && event.object.metadata.resourceVersion !== second.metadata.resourceVersion)
        event = await watch.next();
      expect(seen(event)).toBe("MODIFIED a");
    });

    it("sends no bookmark before a future version is reached", async () => {
      await using api = await open();
      const far = Number((await create(api, "a")).metadata.resourceVersion) + 1_000_000;
      const query = `watch=true&resourceVersion=${far}&timeoutSeconds=1&allowWatchBookmarks=true`;
      using watch = await api.watch(`${configMapsOf(api)}?${query}`);
      expect(await watch.next()).toBeUndefined();
    });

    it("ends a watch cleanly after its time, with a bookmark if requested", async () => {
      await using api = await open();
      const { list } = await api.call("GET", configMapsOf(api));
      const { resourceVersion } = list.metadata;
      using watch = await api.watch(
        `${configMapsOf(api)}?watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=2&allowWatchBookmarks=true`,
      );
      let last: AnyEvent | undefined;
      for (let event = await watch.next(); event; event = await watch.next()) last = event;
      expect(last?.type ?? "BOOKMARK").toBe("BOOKMARK");
    });

    it("streams the list and marks its end, if requested", async () => {
      await using api = await open();
      await create(api, "a", { labels: { mine: "yes" } });
      const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
      using watch = await api.watch(`${configMapsOf(api)}?${query}&labelSelector=mine`);
      expect(seen(await watch.next())).toBe("ADDED a");
      expect(await watch.next()).toMatchObject({
        type: "BOOKMARK",
        object: { kind: "ConfigMap", metadata: { annotations: { "k8s.io/initial-events-end": "true" } } },
      });
    });

    it("reports an object that starts or stops matching as added or deleted", async () => {
      await using api = await open();
      const first = await create(api, "a", { labels: { tier: "front" } });
      const from = first.metadata.resourceVersion;
      using watch = await api.watch(
        `${configMapsOf(api)}?watch=true&resourceVersion=${from}&labelSelector=tier%3Dback`,
      );
      const label = (tier: string) =>
        api.call("PATCH", `${configMapsOf(api)}/a`, { body: { metadata: { labels: { tier } } }, contentType: merge });
      await label("back");
      expect(seen(await watch.next())).toBe("ADDED a");
      await label("front");
      expect(seen(await watch.next())).toBe("DELETED a");
    });

    it("watches one namespace only", async () => {
      await using api = await open();
      await using other = await open();
      const first = await create(api, "a");
      using watch = await api.watch(
        `${configMapsOf(api)}?watch=true&resourceVersion=${first.metadata.resourceVersion}`,
      );
      await create(other, "b");
      await create(api, "c");
      expect(seen(await watch.next())).toBe("ADDED c");
    });

    it("sends tables if requested", async () => {
      await using api = await open();
      await create(api, "a");
      const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };
      const { object } = await api.call("GET", `${configMapsOf(api)}?fieldSelector=metadata.name%3Da`, { headers });
      expect(object).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
      expect(object["rows"]).toMatchObject([{ object: { kind: "PartialObjectMetadata", metadata: { name: "a" } } }]);
      using watch = await api.watch(`${configMapsOf(api)}?watch=true&fieldSelector=metadata.name%3Da`, headers);
      expect(await watch.next()).toMatchObject({ type: "ADDED", object: { kind: "Table", rows: [{}] } });
    });
  });
}
