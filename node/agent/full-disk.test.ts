import { appendFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { image, openAgentWorld } from "../../test/support/labs/agent-world.ts";
import { podOf } from "../../test/support/labs/node-lab.ts";
import { canMountDisks, mountSmallDisk } from "../../test/support/labs/small-disk.ts";

const user = "5a0d0b0c-0000-4000-8000-000000000002";
const others = "other-files";

/** Somebody fills the disk to the last byte. */
function fill(path: string): void {
  const other = join(path, others);
  for (const bytes of [2 ** 20, 2 ** 12, 1]) {
    while (append(other, bytes));
  }
  expect(statfsSync(path).bavail).toBe(0);
}

function append(path: string, bytes: number): boolean {
  try {
    appendFileSync(path, Buffer.alloc(bytes, 1));
    return true;
  } catch {
    return false;
  }
}

/** A sandbox sleeps, and its memory is on a disk of its own. */
async function sleepOnSmallDisk() {
  await using stack = new AsyncDisposableStack();
  const disk = stack.use(await mountSmallDisk(32));
  const world = stack.use(await openAgentWorld({ storeRoot: disk.path }));
  await world.capture();
  await world.deletePod();
  world.api.setPods();
  await world.settle();
  expect(world.api.image?.status?.phase).toBe("Captured");
  const opened = stack.move();
  const { api, lab, settle } = world;
  return { api, lab, settle, fill: () => fill(disk.path), [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

describe.runIf(canMountDisks)("on a disk without a free byte, the memory", () => {
  it("of a sandbox that is deleted goes", async () => {
    await using world = await sleepOnSmallDisk();
    world.fill();
    world.api.image = undefined;
    await world.settle();
    expect(world.lab.files()).toEqual([others]);
  });

  it("that is evicted goes", async () => {
    await using world = await sleepOnSmallDisk();
    world.fill();
    const { image: asleep } = world.api;
    if (asleep) world.api.put({ ...asleep, status: { ...asleep.status, phase: "Lost", reason: "Evicted" } });
    await world.settle();
    expect(world.lab.has(image("image.json"))).toBe(false);
    world.api.image = undefined;
    await world.settle();
    expect(world.lab.files()).toEqual([others]);
  });

  it("that a Pod has used goes", async () => {
    await using world = await sleepOnSmallDisk();
    world.api.setPods(podOf(world.lab, user, "g1"));
    for (const container of [undefined, "main"]) {
      world.lab.mark("g1", { pod: user, outcome: "restored" }, container);
    }
    world.fill();
    await world.settle();
    expect(world.api.image?.status?.phase).toBe("Restored");
    expect(world.lab.has(image("image.json"))).toBe(false);
  });
});
