import { describe, expect, it, vi } from "vitest";
import { type ConfigMap, configMapType, podType } from "../../api/kinds/core.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { eventually } from "../../test/support/eventually.ts";
import { follow, shownIn } from "../../test/support/fakes/followed-informer.ts";
import { aFailure, answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { aStored, openScriptedCollection } from "../../test/support/fakes/scripted-collection.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { waiting } from "../../test/support/waiting.ts";
import { startInformer } from "./start-informer.ts";

describe("an informer that starts", () => {
  it("lists consistently, and watches from the version of the list with bookmarks", async () => {
    await using pods = await openScriptedCollection();
    pods.items = [aStored("a", "3"), aStored("b", "4")];
    pods.version = "4";
    await using followed = follow(pods.client, { namespace: "team", labelSelector: "x=y", fieldSelector: "s=t" });
    await followed.informer.synced;
    expect(shownIn(followed)).toEqual(["a@3", "b@4"]);
    expect(followed.reported).toEqual(["+a@3", "+b@4"]);
    const { query } = await pods.watch(0);
    expect(query).toMatchObject({ resourceVersion: "4", allowWatchBookmarks: "true", labelSelector: "x=y" });
    expect(Number(query["timeoutSeconds"])).toBeGreaterThanOrEqual(300);
    expect(Number(query["timeoutSeconds"])).toBeLessThanOrEqual(600);
    expect(pods.lists).toMatchObject([
      { path: "/api/v1/namespaces/team/pods", query: { labelSelector: "x=y", fieldSelector: "s=t" } },
    ]);
    expect(pods.lists[0]?.query).not.toHaveProperty("resourceVersion");
  });

  it("is synced by the first list that works, not by those that fail", async () => {
    const clock = new FakeClock();
    await using pods = await openScriptedCollection();
    pods.listFailure = aFailure(403, "Forbidden");
    await using followed = follow(pods.client, { clock });
    let synced = false;
    void followed.informer.synced.then(() => {
      synced = true;
    });
    await asTimePasses(clock, () => expect(pods.lists.length).toBeGreaterThan(3));
    expect(synced).toBe(false);
    pods.listFailure = undefined;
    pods.items = [aStored("a", "3")];
    await asTimePasses(clock, () => expect(synced).toBe(true));
    expect(followed.reported).toEqual(["+a@3"]);
  });

  it("tries a failing list again after growing pauses of at most a second", async () => {
    const clock = new FakeClock();
    await using pods = await openScriptedCollection();
    pods.listFailure = aFailure(500, "InternalError");
    await using _followed = follow(pods.client, { clock });
    for (let failures = 1; failures <= 8; failures += 1) {
      await vi.waitFor(() => expect(clock.pending).toBe(1), waiting); // the pause
      expect(pods.lists).toHaveLength(failures);
      const longestMs = Math.min(100 * 2 ** (failures - 1), 1_000);
      await clock.advance(longestMs / 2 - 1);
      expect(pods.lists).toHaveLength(failures);
      await clock.advance(longestMs / 2 + 1);
      await vi.waitFor(() => expect(pods.lists).toHaveLength(failures + 1), waiting);
    }
  });

  it("stops while it waits, and while it watches", async () => {
    await using pods = await openScriptedCollection();
    await follow(pods.client)[Symbol.asyncDispose]();
    const followed = follow(pods.client);
    const watch = await pods.watch(0);
    await followed[Symbol.asyncDispose]();
    await vi.waitFor(() => expect(watch.closed).toBe(true), waiting);
  });
});

describe("an informer that watches", () => {
  it("reports each change once, in order, after the store has changed", async () => {
    await using pods = await openScriptedCollection();
    await using followed = follow(pods.client);
    const sizes: number[] = [];
    followed.informer.onChange(() => sizes.push(followed.informer.store.size));
    const watch = await pods.watch(0);
    watch.send("ADDED", aStored("a", "2"));
    watch.send("MODIFIED", aStored("a", "3"));
    watch.send("MODIFIED", aStored("a", "3"));
    watch.send("DELETED", aStored("a", "4"));
    watch.send("ADDED", aStored("b", "5"));
    await vi.waitFor(() => expect(followed.reported).toEqual(["+a@2", "~a@3", "-a@3", "+b@5"]), waiting);
    expect(sizes).toEqual([1, 1, 0, 1]);
  });

  it("stores the transformed object", async () => {
    await using pods = await openScriptedCollection();
    pods.items = [{ ...aStored("a", "2"), metadata: { ...aStored("a", "2").metadata, managedFields: [{}] } }];
    const transform = (object: ReturnType<typeof aStored>) => {
      const { managedFields: _, ...metadata } = object.metadata;
      return { ...object, metadata };
    };
    await using followed = follow(pods.client, { transform });
    await followed.informer.synced;
    expect(followed.informer.store.get("team/a")?.metadata).not.toHaveProperty("managedFields");
  });

  it("continues from the last version it received, bookmarks included, when the server ends the watch", async () => {
    const clock = new FakeClock();
    await using pods = await openScriptedCollection();
    await using followed = follow(pods.client, { clock });
    const first = await pods.watch(0);
    first.send("ADDED", aStored("a", "2"));
    first.bookmark("9");
    first.end();
    const second = await pods.watch(1);
    expect(second.query["resourceVersion"]).toBe("9");
    await clock.advance(5_000); // long enough for a watch without events
    second.end();
    expect((await pods.watch(2)).query["resourceVersion"]).toBe("9");
    expect(pods.lists).toHaveLength(1);
    expect(followed.reported).toEqual(["+a@2"]);
  });

  it("continues from the last version after a dropped connection, without a list", async () => {
    await using pods = await openScriptedCollection();
    await using followed = follow(pods.client);
    const first = await pods.watch(0);
    first.send("ADDED", aStored("a", "2"));
    await vi.waitFor(() => expect(followed.reported).toHaveLength(1), waiting);
    first.drop();
    const second = await pods.watch(1);
    expect(second.query["resourceVersion"]).toBe("2");
    second.send("MODIFIED", aStored("a", "3"));
    await vi.waitFor(() => expect(followed.reported).toEqual(["+a@2", "~a@3"]), waiting);
    expect(pods.lists).toHaveLength(1);
  });

  it.each([
    { what: "a line that does not parse", fault: '{"type":\n' },
    { what: "an event of an unknown type", fault: '{"type":"MOVED","object":{}}\n' },
  ])("requests again the events that $what may have hidden", async ({ fault }) => {
    await using pods = await openScriptedCollection();
    await using followed = follow(pods.client);
    const first = await pods.watch(0);
    first.send("ADDED", aStored("a", "2"));
    first.say(fault);
    const second = await pods.watch(1);
    expect(second.query["resourceVersion"]).toBe("2");
    second.send("ADDED", aStored("b", "3"));
    await vi.waitFor(() => expect(followed.reported).toEqual(["+a@2", "+b@3"]), waiting);
  });

  it("waits longer and longer when watches end at once, and does not list again for that", async () => {
    const clock = new FakeClock();
    await using pods = await openScriptedCollection();
    await using _followed = follow(pods.client, { clock });
    for (let index = 0; index < 5; index += 1) {
      (await pods.watch(index)).end();
      await vi.waitFor(() => expect(clock.pending).toBe(1), waiting); // the pause
      expect(pods.watchAttempts).toHaveLength(index + 1);
      await clock.advance(100 * 2 ** index);
    }
    expect(pods.lists).toHaveLength(1);
  });

  it.each([429, 503])("does not add a list to the load of a server that answers %i to its watch", async (code) => {
    const clock = new FakeClock();
    await using pods = await openScriptedCollection();
    pods.watchFailure = aFailure(code, "Busy");
    await using _followed = follow(pods.client, { clock });
    await asTimePasses(clock, () => expect(pods.watchAttempts.length).toBeGreaterThan(3));
    expect(pods.lists).toHaveLength(1);
  });
});

it("an informer sees creation, change, deletion and a new object under the old name", async () => {
  await using api = await openMemoryApi();
  const metadata = { namespace: "default", name: "settings" };
  await api.client.create(configMapType, { metadata, data: { colour: "red" } });
  await using informer = startInformer<ConfigMap, "colour">({
    client: api.client,
    type: configMapType,
    namespace: "default",
    indexes: { colour: ({ data }) => Object.values(data ?? {}) },
    clock: systemClock,
    log: silentLogger,
    frozen: true,
  });
  await informer.synced;
  const uids: (readonly [string | undefined, string | undefined])[] = [];
  informer.onChange(({ previous, current }) => uids.push([previous?.metadata.uid, current?.metadata.uid]));
  const first = informer.store.by("colour", "red")[0]?.metadata.uid;

  await api.client.patch(configMapType, metadata, { type: "merge", body: { data: { colour: "blue" } } });
  await api.client.delete(configMapType, metadata);
  const again = await api.client.create(configMapType, { metadata, data: { colour: "green" } });
  await vi.waitFor(() => expect(informer.store.by("colour", "green")).toHaveLength(1), waiting);
  expect(uids).toEqual([
    [first, first],
    [first, undefined],
    [undefined, again.metadata.uid],
  ]);
  expect(informer.store.by("colour", "red")).toEqual([]);
});

it("an informer whose pages were too large requests smaller ones in its next list", async () => {
  const text = "x".repeat(4_096);
  const items = [1, 2, 3, 4, 5].map((at) => ({ ...aStored(`s${at}`, "1"), data: { text } }));
  await using api = await openScriptedApi(
    ({ query }, response) => {
      if (query["watch"]) return answerJson(response, 410, aFailure(410, "Expired"));
      const limit = Number(query["limit"]);
      const from = Number(query["continue"] ?? 0);
      const more = from + limit < items.length ? { continue: String(from + limit) } : {};
      answerJson(response, 200, {
        metadata: { resourceVersion: "7", ...more },
        items: items.slice(from, from + limit),
      });
    },
    { answerBytesMax: 3 * text.length },
  );
  const { client } = api;
  await using _informer = startInformer({ client, type: podType, clock: systemClock, log: silentLogger, indexes: {} });
  const limits = () => api.received.flatMap(({ query }) => (query["continue"] ? [] : (query["limit"] ?? [])));
  await eventually(() => limits().length > 10);
  expect(limits().slice(0, 11)).toEqual(["500", "250", "125", "63", "32", "16", "8", "4", "2", "2", "2"]);
});
