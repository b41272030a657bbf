import { truncateSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { givenUpAnnotation } from "../../api/rules/keys.ts";
import { ShiftedClock } from "../../test/support/labs/agent-world.ts";
import { openNode, passUntil } from "../../test/support/labs/full-node.ts";
import { Files } from "./doors/files.ts";

it("captures that begin together do not take the same room", async () => {
  await using node = await openNode(4, 1);
  await Promise.all([0, 1, 2, 3].map((index) => node.pass(index)));
  expect(await node.whole()).toHaveLength(1);
  const refused = [...node.images.values()].filter(({ status }) => status?.reason === "StoreFull");
  expect(refused).toHaveLength(3);
});

it("the oldest image makes room for a new one, and its status says so before its files go", async () => {
  await using node = await openNode(3, 2);
  await node.putToSleep(0, "2026-01-02T00:00:00Z");
  await node.putToSleep(1, "2026-01-01T00:00:00Z");
  await node.pass(2);
  expect(node.statusOf(1)).toMatchObject({ phase: "Lost", reason: "Evicted" });
  expect([...(await node.whole())].sort()).toEqual(["g0", "g1"]);
  await passUntil(node, 2, "Captured");
  expect([...(await node.whole())].sort()).toEqual(["g0", "g2"]);
  expect(node.statusOf(0)?.phase).toBe("Captured");
  expect(await node.evictions()).toBe("1");
});

it("a capture that waits for an image which stays looks less often after 5 s, and no other image goes", async () => {
  class StuckFiles extends Files {
    override async rename(from: string, to: string): Promise<void> {
      if (to.endsWith("/g0.part")) throw new Error("input/output error");
      await super.rename(from, to);
    }
  }
  const clock = new ShiftedClock();
  await using node = await openNode(3, 2, { files: new StuckFiles(), clock });
  for (const index of [0, 1]) await node.putToSleep(index, `2026-01-0${index + 1}T00:00:00Z`);
  expect(await node.pass(2)).toEqual({ requeueAfterMs: 50 });
  await expect(passUntil(node, 0, "gone")).rejects.toThrow("input/output error");
  clock.aheadMs = 5_000;
  expect(await node.pass(2)).toEqual({ requeueAfterMs: 1_000 });
  expect([0, 1].map((index) => node.statusOf(index)?.phase)).toEqual(["Lost", "Captured"]);
});

it("no image makes room for a capture that has no time left", async () => {
  const clock = new ShiftedClock();
  await using node = await openNode(2, 1, { clock });
  const waiting = node.images.get("g1") ?? expect.unreachable();
  node.images.set("g1", { ...waiting, status: {} });
  await node.pass(1);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  clock.aheadMs = 11_500;
  await node.pass(1);
  expect(node.statusOf(1)).toMatchObject({ phase: "Failed", reason: "StoreFull" });
  expect(await node.evictions()).toBe("0");
});

it("an image that a Pod asks for makes no room: the capture fails", async () => {
  await using node = await openNode(2, 1);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  node.isAskedFor(0);
  await node.pass(1);
  expect(node.statusOf(1)).toMatchObject({ phase: "Failed", reason: "StoreFull" });
  expect(await node.whole()).toEqual(["g0"]);
});

it("an image makes room if the Pod that asks for it was refused: that Pod never gets it", async () => {
  await using node = await openNode(2, 1);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  node.isAskedFor(0, "refused-pod");
  const image = node.images.get("g0") ?? expect.unreachable();
  const refused = { podUID: "refused-pod", reason: "NotSigned" };
  node.images.set("g0", { ...image, status: { ...image.status, refused } });
  await passUntil(node, 1, "Captured");
  expect(node.statusOf(0)).toMatchObject({ phase: "Lost", reason: "Evicted", refused });
  expect(await node.whole()).toEqual(["g1"]);
});

it.each([
  ["than the store may have", "StoreFull", 1, 100],
  ["than the share of its namespace", "NamespaceFull", 3, 50],
])("a capture that wrote more than it promised and %s fails", async (_, reason, rooms, percent) => {
  await using node = await openNode(2, rooms, { namespaces: ["mallory", "a"], maxNamespacePercent: percent });
  const { imageBytes, lab, pods } = node;
  truncateSync(`${lab.runsc.root}/memory-of-${pods[0]?.id}`, 3 * imageBytes);
  await passUntil(node, 0, "Failed");
  expect(node.statusOf(0)).toMatchObject({ phase: "Failed", reason });
  expect(await node.whole()).toEqual(["g1"]);
});

it.each(["there", "unreachable"] as const)(
  "an image that is promised to a Pod makes no room while the API has that Pod: it is %s",
  async (now) => {
    await using node = await openNode(2, 1);
    await node.putToSleep(0, "2026-01-01T00:00:00Z");
    node.isPromised(0, "5a0d0b0c-0000-4000-8000-000000000002", now);
    await node.pass(1);
    await node.pass(1);
    expect([0, 1].map((index) => node.statusOf(index)?.phase)).toEqual(["Captured", "Failed"]);
    expect(await node.evictions()).toBe("0");
  },
);

it("an image that was promised to a Pod makes room once the API has that Pod no more", async () => {
  await using node = await openNode(2, 1);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  node.isPromised(0, "5a0d0b0c-0000-4000-8000-000000000002", "gone");
  await node.pass(1);
  expect(node.statusOf(0)).toMatchObject({ phase: "Lost", reason: "Evicted" });
});

it("a preflight counts the room that other images may make, and takes none of it", async () => {
  await using node = await openNode(2, 1);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  const image = node.images.get("g1") ?? expect.unreachable();
  node.images.set("g1", { ...image, spec: { ...image.spec, stage: "Preflight" }, status: {} });
  await node.pass(1);
  expect(node.statusOf(1)?.preflight).toEqual({ capturable: true });
  expect(node.statusOf(0)?.phase).toBe("Captured");
});

it("a preflight reads no other image, and a capture without room only those that go", async () => {
  await using node = await openNode(3, 2);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  const toPreflight = (index: number) => {
    const image = node.images.get(`g${index}`) ?? expect.unreachable();
    node.images.set(`g${index}`, { ...image, spec: { ...image.spec, stage: "Preflight" }, status: {} });
  };
  toPreflight(1);
  expect(await node.readDuring(() => node.pass(1))).toEqual(["g1"]);
  expect(node.statusOf(1)?.preflight).toEqual({ capturable: true });
  const one = node.images.get("g1") ?? expect.unreachable();
  node.images.set("g1", { ...one, spec: { ...one.spec, stage: "Capture" }, status: { phase: "Capturing" } });
  await node.putToSleep(1, "2026-01-02T00:00:00Z");
  toPreflight(2);
  expect(await node.readDuring(() => node.pass(2))).toEqual(["g2"]);
  const two = node.images.get("g2") ?? expect.unreachable();
  node.images.set("g2", { ...two, spec: { ...two.spec, stage: "Capture" }, status: { phase: "Capturing" } });
  expect([...(await node.readDuring(() => node.pass(2)))].sort()).toEqual(["g0", "g2"]);
  expect(node.statusOf(0)).toMatchObject({ reason: "Evicted" });
});

it("an image that a Pod has used by what the disk says does not go, and the next one does", async () => {
  await using node = await openNode(3, 2);
  for (const index of [0, 1]) await node.putToSleep(index, `2026-01-0${index + 1}T00:00:00Z`);
  writeFileSync(node.lab.path("images", "default", "guest0", "g0.json"), '{"pod":"p","outcome":"restoring"}');
  await node.pass(2);
  expect([0, 1].map((index) => node.statusOf(index)?.reason)).toEqual([undefined, "Evicted"]);
});

describe("a disk that anybody has filled with other files", () => {
  /** Two images sleep on it, and a Pod of another namespace is to be captured. */
  async function fill() {
    const disk = { freeBytes: 2 ** 40 };
    class FilledDisk extends Files {
      override async freeBytes(): Promise<number> {
        return disk.freeBytes;
      }
    }
    const minFreeBytes = 2 ** 36;
    const node = await openNode(3, 100, { files: new FilledDisk(), minFreeBytes, namespaces: ["a", "a", "b"] });
    for (const index of [0, 1]) await node.putToSleep(index, `2026-01-0${index + 1}T00:00:00Z`, 2 ** 23);
    const leave = (bytes: number) => {
      disk.freeBytes = minFreeBytes + bytes;
    };
    return { node, leave };
  }

  it("costs no memory of other namespaces beyond the size of a capture: the capture fails", async () => {
    const { node, leave } = await fill();
    await using _node = node;
    leave(-node.imageBytes);
    await node.pass(2);
    expect(node.statusOf(2)).toMatchObject({ phase: "Failed", reason: "DiskFull" });
    expect([...(await node.whole())].sort()).toEqual(["g0", "g1"]);
    expect(await node.evictions()).toBe("0");
  });

  it("costs no second image if the room of the first one is filled too", async () => {
    const { node, leave } = await fill();
    await using _node = node;
    leave(0);
    await passUntil(node, 2, "Failed");
    expect(node.statusOf(2)).toMatchObject({ reason: "DiskFull" });
    expect(await node.whole()).toEqual(["g1"]);
    expect(await node.evictions()).toBe("1");
  });
});

it("a preflight measures no image that sleeps again", async () => {
  await using node = await openNode(3, 3);
  for (const index of [0, 1]) await node.putToSleep(index, "2026-01-01T00:00:00Z");
  const image = node.images.get("g2") ?? expect.unreachable();
  node.images.set("g2", { ...image, spec: { ...image.spec, stage: "Preflight" }, status: {} });
  await node.pass(2);
  expect(await node.sizesDuring(() => node.pass(2))).toEqual([]);
});

const shared = { namespaces: ["b", "a", "a", "a"], maxNamespacePercent: 50 };

it("beyond the share of its namespace, a capture removes the oldest image of its own, and of no other", async () => {
  await using node = await openNode(4, 4, shared);
  for (const index of [0, 1, 2]) await node.putToSleep(index, `2026-01-0${index + 1}T00:00:00Z`);
  await node.pass(3);
  expect(node.statusOf(1)).toMatchObject({ phase: "Lost", reason: "Evicted" });
  await passUntil(node, 3, "Captured");
  expect([...(await node.whole())].sort()).toEqual(["g0", "g2", "g3"]);
  expect(await node.evictions()).toBe("1");
});

it("a capture that its namespace has no share for fails, and no image of another namespace goes", async () => {
  await using node = await openNode(3, 4, { ...shared, maxNamespacePercent: 24 });
  for (const index of [0, 1]) await node.putToSleep(index, "2026-01-01T00:00:00Z");
  node.isAskedFor(1);
  await node.pass(2);
  expect(node.statusOf(2)).toMatchObject({ phase: "Failed", reason: "NamespaceFull" });
  expect([...(await node.whole())].sort()).toEqual(["g0", "g1"]);
  expect(await node.evictions()).toBe("0");
});

it("captures of one namespace that begin together do not take the same share", async () => {
  await using node = await openNode(4, 4, { ...shared, namespaces: ["a", "a", "a", "b"] });
  await Promise.all([0, 1, 2, 3].map((index) => node.pass(index)));
  expect([0, 1, 2].filter((index) => node.statusOf(index)?.reason === "NamespaceFull")).toHaveLength(1);
  expect(await node.whole()).toContain("g3");
});

it("no image goes for a capture that the controller has given up", async () => {
  await using node = await openNode(2, 1, { namespaces: ["victim", "late"] });
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  const image = node.images.get("g1") ?? expect.unreachable();
  const annotations = { [givenUpAnnotation]: "AgentSilent" };
  node.images.set("g1", { ...image, metadata: { ...image.metadata, annotations } });
  await node.pass(1);
  expect(await node.evictions()).toBe("0");
});
