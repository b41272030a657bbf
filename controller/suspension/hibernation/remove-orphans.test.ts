import { expect, it } from "vitest";
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { anImage } from "../../../test/support/builders/memory-images.ts";
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
  const trouble: { error?: Error } = {};
  const to: KubeClient = Object.assign(Object.create(client), {
    delete: (...args: Parameters<KubeClient["delete"]>) =>
      trouble.error ? Promise.reject(trouble.error) : client.delete(...args),
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
  await world.clock.advance(minutes(2));
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
  await world.clock.advance(minutes(4));
  await world.clock.advance(minutes(2));
  await expect.poll(() => world.left(), { timeout: 10_000 }).toEqual(["a", "c"]);
});

it("a removal that fails is tried again", async () => {
  await using world = await open();
  world.trouble.error = new Error("the API server is away");
  await world.clock.advance(minutes(6));
  expect(await world.left()).toEqual(["a", "b"]);
  delete world.trouble.error;
  await world.clock.advance(minutes(1));
  await expect.poll(() => world.left(), { timeout: 10_000 }).toEqual(["a"]);
});
