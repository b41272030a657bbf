import { describe, expect, it } from "vitest";
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import type { KubeClient, ListOptions } from "../../../kube/client/client.ts";
import { AnswerTooLarge } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { anImage } from "../../../test/support/builders/memory-images.ts";
import { refusingClient } from "../../../test/support/fakes/refusing-client.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { startOrphanRemoval } from "./remove-orphans.ts";

const minutes = (count: number): number => count * 60_000;

async function open() {
  await using stack = new AsyncDisposableStack();
  const { client } = stack.use(await openMemoryApi());
  const make = (podUID: string, sandboxUID: string): Promise<Stored<MemoryImage>> => {
    const { name, namespace = "" } = anImage({ spec: { podUID } }).metadata;
    const { spec } = anImage({ spec: { podUID, sandboxUID } });
    const kind = { apiVersion: "hibernation.rouse.dev/v1alpha1", kind: "MemoryImage" };
    return client.create(memoryImageType, { ...kind, metadata: { name, namespace }, spec });
  };
  const images = [await make("a", "alive"), await make("b", "gone")];
  const sandboxes = new Set(["alive"]);
  const clock = new FakeClock();
  const trouble: { error?: Error; failed: number } = { failed: 0 };
  const to: KubeClient = Object.assign(Object.create(client), {
    delete: async (...args: Parameters<KubeClient["delete"]>) => {
      if (!trouble.error) return client.delete(...args);
      trouble.failed += 1;
      throw trouble.error;
    },
  });
  const options = { client: to, clock, log: silentLogger, exists: (uid: string) => sandboxes.has(uid) };
  const removal = stack.use(startOrphanRemoval({ ...options, images: { list: () => images } }));
  const opened = stack.move();
  return {
    ...{ client, clock, images, make, sandboxes, trouble, removal },
    left: async () => (await client.list(memoryImageType, {})).items.map(({ spec }) => spec.podUID).sort(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

it("an image whose Sandbox has been gone for five minutes is removed, and no other", async () => {
  await using world = await open();
  await world.clock.advance(minutes(4));
  expect(await world.left()).toEqual(["a", "b"]);
  await world.clock.advance(minutes(1));
  await expect.poll(() => world.left(), { timeout: 10_000 }).toEqual(["a"]);
});

it("a Sandbox that the watch shows later keeps its images, and their time begins anew", async () => {
  await using world = await open();
  await world.clock.advance(minutes(4));
  world.sandboxes.add("gone");
  await world.clock.advance(minutes(2));
  world.sandboxes.delete("gone");
  await world.clock.advance(minutes(4));
  expect(await world.left()).toEqual(["a", "b"]);
});

it("a Sandbox that only the API server knows keeps its images: the store may stand still", async () => {
  await using world = await open();
  const { metadata } = await world.client.create(sandboxType, {
    ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" },
    metadata: { namespace: "default", name: "unseen" },
    spec: { podTemplate: { spec: { containers: [{ name: "main", image: "x" }] } } },
  });
  await world.make("c", metadata.uid).then((image) => world.images.push(image));
  await world.clock.advance(minutes(5));
  await expect.poll(() => world.left(), { timeout: 10_000 }).toEqual(["a", "c"]);
});

it("a removal that fails is tried again", async () => {
  await using world = await open();
  world.trouble.error = new Error("the API server is away");
  await world.clock.advance(minutes(5));
  await expect.poll(() => world.trouble.failed, { timeout: 10_000 }).toBe(1);
  expect(await world.left()).toEqual(["a", "b"]);
  delete world.trouble.error;
  await world.clock.advance(minutes(1));
  await expect.poll(() => world.left(), { timeout: 10_000 }).toEqual(["a"]);
});

describe("the turns of namespaces", () => {
  /** The images of these namespaces, all without a Sandbox. The test decides about the lists and the deletions. */
  function openTurns(imagesOf: Readonly<Record<string, number>>) {
    const images = Object.entries(imagesOf).flatMap(([namespace, count]) =>
      Array.from({ length: count }, (_, at) =>
        anImage({ spec: { podUID: `${at}` }, metadata: { namespace, uid: `${namespace}-${at}` } }),
      ),
    );
    const lists: ListOptions[] = [];
    const tried: string[] = [];
    const script = {
      list: (_options: ListOptions, _signal?: AbortSignal): Promise<void> => Promise.resolve(),
      remove: (_uid: string): Promise<void> => Promise.resolve(),
    };
    const client: KubeClient = Object.assign(Object.create(refusingClient), {
      list: async (_type: unknown, options: ListOptions, signal?: AbortSignal) => {
        lists.push(options);
        await script.list(options, signal);
        return { metadata: { resourceVersion: "1" }, items: [] };
      },
      delete: async (...[, , options]: Parameters<KubeClient["delete"]>) => {
        const { uid = "" } = options?.preconditions ?? {};
        tried.push(uid);
        await script.remove(uid);
        const at = images.findIndex(({ metadata }) => metadata.uid === uid);
        images.splice(at, 1);
      },
    });
    const clock = new FakeClock();
    const options = { client, clock, log: silentLogger, images: { list: () => [...images] }, exists: () => false };
    const removal = startOrphanRemoval(options);
    return { clock, lists, tried, script, images, [Symbol.asyncDispose]: () => removal[Symbol.asyncDispose]() };
  }

  const tooLarge = () => Promise.reject(new AnswerTooLarge("more than 256 MiB"));
  const hang = (signal?: AbortSignal) =>
    new Promise<void>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));

  it("read the Sandboxes of a namespace once for all of its images, in pages", async () => {
    await using world = openTurns({ one: 40, two: 3 });
    await world.clock.advance(minutes(5));
    expect(world.lists.map(({ namespace, limit }) => ({ namespace, limit }))).toEqual([
      { namespace: "one", limit: 500 },
      { namespace: "two", limit: 500 },
    ]);
    expect(world.images).toEqual([]);
  });

  it("end where one page is too large, with smaller pages", async () => {
    await using world = openTurns({ large: 2 });
    world.script.list = ({ limit = Number.POSITIVE_INFINITY }) => (limit > 100 ? tooLarge() : Promise.resolve());
    await world.clock.advance(minutes(5));
    expect(world.images).toEqual([]);
  });

  it("come less often for a namespace that cannot be read, and as before for the others", async () => {
    await using world = openTurns({ bad: 2, good: 1 });
    world.script.list = ({ namespace }) => (namespace === "bad" ? tooLarge() : Promise.resolve());
    const turnsOf = (wanted: string) =>
      world.lists.filter(({ namespace, limit }) => namespace === wanted && limit === 500).length;
    await world.clock.advance(minutes(5));
    expect(world.images.map(({ metadata }) => metadata.namespace)).toEqual(["bad", "bad"]);
    await world.clock.advance(minutes(180));
    // After 1, 2, 4, 8, 16 and 32 minutes, then once an hour; a fifth sooner at most.
    expect(turnsOf("bad")).toBeGreaterThanOrEqual(8);
    expect(turnsOf("bad")).toBeLessThanOrEqual(12);
    world.images.push(anImage({ metadata: { namespace: "good", uid: "late" } }));
    await world.clock.advance(minutes(6));
    expect(world.images.map(({ metadata }) => metadata.namespace)).toEqual(["bad", "bad"]);
  });

  it("end after half a minute where a list takes longer, and come last from then on", async () => {
    await using world = openTurns({ slow: 1, other: 1 });
    world.script.list = ({ namespace }, signal) => (namespace === "slow" ? hang(signal) : Promise.resolve());
    await world.clock.advance(minutes(5));
    expect(world.lists.map(({ namespace }) => namespace)).toEqual(["slow"]);
    await world.clock.advance(30_000);
    expect(world.images.map(({ metadata }) => metadata.namespace)).toEqual(["slow"]);
    world.images.push(anImage({ metadata: { namespace: "other", uid: "late" } }));
    await world.clock.advance(minutes(60));
    expect(world.lists.filter(({ namespace }) => namespace === "other")).toHaveLength(2);
    expect(world.images.map(({ metadata }) => metadata.namespace)).toEqual(["slow"]);
  });

  it("get more time after each failure, so that a large namespace is read in the end", async () => {
    await using world = openTurns({ large: 1 });
    const takesMs = 100_000;
    world.script.list = (_options, signal) => world.clock.sleep(takesMs, signal);
    await world.clock.advance(minutes(5));
    expect(world.lists).toHaveLength(1);
    await world.clock.advance(minutes(15));
    expect(world.lists).toHaveLength(3);
    expect(world.images).toEqual([]);
  });

  it("go on with the images that were not tried after one that cannot be removed", async () => {
    await using world = openTurns({ one: 3 });
    world.script.remove = (uid) => {
      // Each takes the whole turn.
      world.clock.standStill(30_000);
      return uid === "one-0" ? Promise.reject(new Error("it is stuck")) : Promise.resolve();
    };
    await world.clock.advance(minutes(5));
    expect(world.tried).toEqual(["one-0"]);
    await world.clock.advance(minutes(10));
    expect(world.tried.slice(0, 4)).toEqual(["one-0", "one-1", "one-2", "one-0"]);
    expect(world.images.map(({ metadata }) => metadata.uid)).toEqual(["one-0"]);
  });
});
