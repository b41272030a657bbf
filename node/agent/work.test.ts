import { expect, it, vi } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import type { Doors } from "./doors/doors.ts";
import type { ImageKey } from "./store/image-key.ts";
import { work } from "./work.ts";

const keyOf = (namespace: string, index: number): ImageKey => ({
  ...{ namespace, pod: `p${index}`, image: `pod-${index}` },
});

/** An agent whose captures never end, and the images that wait for it. */
function startWork(
  images: readonly ImageKey[],
  {
    clock = systemClock,
    containerIds = async () => new Set(),
    storeKeys = async (): Promise<readonly ImageKey[]> => [],
  } = {},
) {
  const captures: string[] = [];
  const looks: string[] = [];
  const measures: string[] = [];
  const { promise: never } = Promise.withResolvers<never>();
  const stop = new AbortController();
  const pass = async (text: string, _: AbortSignal, mayCapture = true) => {
    (mayCapture ? captures : looks).push(text);
    return mayCapture ? never : { isCaptureDue: true };
  };
  const measureStore = async () => void measures.push("measured");
  const doors = {
    ...{ clock, records: { keys: async () => [], removeKilled: async () => {} } },
    sandboxes: { containerIds },
    store: { keys: storeKeys, keysOfPod: async () => [] },
  } as unknown as Doors;
  const change: { image(key: ImageKey): void } = { image: () => expect.unreachable() };
  const watching = {
    ...{ keys: () => images, failed: never },
    onChange: (tell: typeof change) => Object.assign(change, tell),
  };
  const worked = work({ pass, measureStore }, { watching, doors, log: silentLogger }, stop.signal);
  return { worked, measures, captures, looks, change, [Symbol.dispose]: () => stop.abort() };
}

it("captures of one namespace hold up neither those of another nor the other work", async () => {
  using world = startWork(Array.from({ length: 40 }, (_, index) => keyOf("crowd", index)));
  await expect.poll(() => world.looks.length).toBe(40);
  await expect.poll(() => world.captures.length).toBeGreaterThan(4);
  expect(world.captures.length).toBeLessThan(16);
  world.change.image(keyOf("alone", 1));
  await expect.poll(() => world.captures).toContain("alone/p1/pod-1");
});

/** A clock on which minutes pass at once, until that is over. */
function withMinutes(isOver: () => boolean): Clock {
  let aheadMs = 0;
  return {
    ...{ now: () => systemClock.now(), ticksMs: () => systemClock.ticksMs() + aheadMs },
    after: (delayMs, task) => systemClock.after(delayMs, task),
    async sleep(delayMs, signal) {
      if (delayMs !== 60_000 || isOver()) return systemClock.sleep(delayMs, signal);
      aheadMs += delayMs;
    },
  };
}

it("what shims have left is looked for every minute, also if that has failed", async () => {
  const [minutes, looked] = [3, vi.fn(() => Promise.reject(new Error("input/output error")))];
  const clock = withMinutes(() => looked.mock.calls.length > minutes);
  using _world = startWork([], { clock, containerIds: looked });
  await expect.poll(() => looked.mock.calls.length).toBe(minutes + 1);
});

it("a store that cannot be listed ends no capture, and is listed again a minute later", async () => {
  let lists = 0;
  const storeKeys = async () => {
    lists += 1;
    if (lists === 1) throw new Error("EMFILE: too many open files");
    return [keyOf("asleep", 1)];
  };
  using world = startWork([], { clock: withMinutes(() => lists > 1), storeKeys });
  const seen = expect.poll(() => world.looks).toContain("asleep/p1/pod-1");
  await Promise.race([seen, world.worked.then(() => expect.unreachable("the work has ended"))]);
});

it("the images on the disk are measured at the start, and again every ten minutes", async () => {
  let lists = 0;
  const storeKeys = async () => {
    lists += 1;
    return [];
  };
  using world = startWork([], { clock: withMinutes(() => lists > 25), storeKeys });
  await expect.poll(() => lists).toBe(26);
  expect(world.measures).toHaveLength(3);
});

it("an image is in one pass at a time", async () => {
  using world = startWork([keyOf("alone", 1)]);
  await expect.poll(() => world.captures.length).toBe(1);
  world.change.image(keyOf("alone", 1));
  world.change.image(keyOf("alone", 2));
  await expect.poll(() => world.looks).toContain("alone/p2/pod-2");
  expect(world.looks.filter((text) => text === "alone/p1/pod-1")).toHaveLength(1);
});
