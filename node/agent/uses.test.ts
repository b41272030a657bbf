import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { image, openAgentWorld, ShiftedClock } from "../../test/support/labs/agent-world.ts";
import type { LabAgentOptions } from "../../test/support/labs/mortal-agent.ts";
import { podOf, stateOf } from "../../test/support/labs/node-lab.ts";

describe("a captured Pod", () => {
  it("is ended once it is deleted, in a way that lets runsc delete it", async () => {
    await using world = await openAgentWorld();
    await world.capture();
    const before = world.lab.memoryOf(world.pod);
    await world.deletePod();
    expect(world.lab.memoryOf(world.pod)).toBe(before);
    const state = world.lab.stateText(world.pod);
    expect(state).toContain('"status":"running"');
    expect(state).toContain('"hard":18446744073709551615');
    expect(world.lab.has(image("image.json"))).toBe(true);
  });

  it("is ended while the shim corrects the same state file, and what the shim writes stays whole", async () => {
    await using world = await openAgentWorld();
    await world.capture();
    const ofShim = join(world.lab.runsc.root, `${world.pod.id}_sandbox:${world.pod.id}.state.new`);
    writeFileSync(ofShim, "half a te");
    await world.deletePod();
    expect(readFileSync(ofShim, "utf8")).toBe("half a te");
    expect(world.lab.stateText(world.pod)).toContain('"status":"running"');
  });

  it("stays frozen when nobody deletes it, and also when its MemoryImage is deleted", async () => {
    await using world = await openAgentWorld();
    await world.capture();
    world.api.image = undefined;
    await world.settle();
    expect(stateOf(world.pod.sentry)).toBe("T");
    expect(world.lab.files()).toEqual([`tombstones/${world.pod.uid}.json`]);
    world.api.setPods();
    await world.settle();
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).not.toBe("T"), 5_000);
    await world.settle();
    expect(world.lab.files()).toEqual([]);
  });

  it("whose image has vanished is reported as lost", async () => {
    await using world = await openAgentWorld();
    await world.capture();
    await world.deletePod();
    world.api.setPods();
    rmSync(world.lab.path("images"), { recursive: true });
    await world.settle();
    expect(world.api.image?.status).toMatchObject({ phase: "Lost", reason: "ImageMissing" });
  });
});

const user = "5a0d0b0c-0000-4000-8000-000000000002";

describe("a Pod that asks for an image", () => {
  /** The old Pod is gone, and the next one asks for its memory. */
  async function wake(options: LabAgentOptions = {}) {
    const world = await openAgentWorld(options);
    await world.capture();
    await world.deletePod();
    world.api.setPods(podOf(world.lab, user, "g1"));
    await world.settle();
    return world;
  }

  it("keeps the image while its restore goes on, also without a MemoryImage", async () => {
    await using world = await wake();
    world.api.image = undefined;
    world.lab.mark("g1", { pod: user, outcome: "restoring" });
    await world.settle();
    expect(world.lab.has(image("image.json"))).toBe(true);
  });

  it("is reported as restored, and the image is gone before its marks", async () => {
    await using world = await wake();
    world.lab.mark("g1", { pod: user, outcome: "restored" });
    await world.settle();
    expect(world.api.image?.status?.restore).toBeUndefined();
    world.lab.mark("g1", { pod: user, outcome: "restored" }, "main");
    await world.settle();
    expect(world.api.image?.status).toMatchObject({
      phase: "Restored",
      restore: { podUID: user, outcome: "Restored" },
    });
    expect(world.lab.files()).toEqual(["images/default/guest/g1.json", "images/default/guest/g1.main.json"]);
    expect(await world.metric('rouse_node_restores_total{outcome="Restored"}')).toHaveLength(1);
    world.api.image = undefined;
    await world.settle();
    expect(world.lab.files()).toHaveLength(2);
    world.api.setPods();
    await world.settle();
    expect(world.lab.files()).toEqual([]);
  });

  it.each([
    ["failed", "Failed", "RestoreFailed"],
    ["refused", "Refused", "ImageRefused"],
  ])(
    "that the shim has marked as %s is reported with the reason, and the image goes",
    async (mark, outcome, reason) => {
      await using world = await wake();
      world.lab.mark("g1", { pod: user, outcome: "restored" });
      world.lab.mark("g1", { pod: user, outcome: mark, reason: "pages.img is short" }, "main");
      await world.settle();
      const { status } = world.api.image ?? {};
      expect(status).toMatchObject({
        phase: "Lost",
        reason,
        message: "pages.img is short",
        restore: { outcome, reason },
      });
      expect(world.lab.has(image("image.json"))).toBe(false);
    },
  );

  it("and ends before its restore is reported as interrupted, and the image is not used again", async () => {
    const clock = new ShiftedClock();
    await using world = await wake({ clock });
    world.lab.mark("g1", { pod: user, outcome: "restored" });
    world.api.setPods();
    await world.settle();
    expect(world.lab.has(image("image.json"))).toBe(true);
    clock.aheadMs = 61_000;
    await world.settle();
    expect(world.api.image?.status?.restore).toMatchObject({ outcome: "Failed", reason: "RestoreInterrupted" });
    expect(world.lab.files()).toEqual([]);
    expect(world.lab.has("images/default")).toBe(false);
  });

  it("keeps the image while gVisor restores it, although the watch does not show the Pod yet", async () => {
    await using world = await wake();
    const next = await world.lab.startPod({ uid: user });
    world.lab.mark("g1", { pod: user, outcome: "restoring", container: next.id });
    world.api.setPods();
    await world.settle();
    expect(world.lab.has(image("image.json"))).toBe(true);
    expect(world.api.image?.status?.restore).toBeUndefined();
  });

  it.each(["gone", "another one of that name"])(
    "and is half restored and deleted by force ends 40 s later, and its files go: the API has %s",
    async (what) => {
      const clock = new ShiftedClock();
      await using world = await wake({ clock });
      const next = await world.lab.startPod({ uid: user });
      world.lab.mark("g1", { pod: user, outcome: "restored", container: next.id });
      await world.settle();
      if (what === "gone") world.api.setPods();
      else world.api.setPods(podOf(world.lab, "5a0d0b0c-0000-4000-8000-000000000003", "g1"));
      clock.aheadMs += 3_600_000;
      await world.settle();
      expect(stateOf(next.sentry), "it is seen for the first time").not.toMatch(/^Z?$/);
      clock.aheadMs += 39_000;
      await world.settle();
      expect(stateOf(next.sentry), "it may still end by itself").not.toMatch(/^Z?$/);
      clock.aheadMs += 2_000;
      await world.settle();
      await vi.waitFor(() => expect(stateOf(next.sentry)).toMatch(/^Z?$/), 5_000);
      clock.aheadMs += 61_000;
      await world.settle();
      const told = { podUID: user, outcome: "Failed", reason: "RestoreInterrupted" };
      expect(world.api.image?.status?.restore).toMatchObject(told);
      world.api.setPods();
      await world.settle();
      expect(world.lab.files()).toEqual([]);
    },
  );

  it("and is half restored is spared while the API has it, however far the watch is behind", async () => {
    const clock = new ShiftedClock();
    await using world = await wake({ clock });
    const next = await world.lab.startPod({ uid: user });
    world.lab.mark("g1", { pod: user, outcome: "restoring", container: next.id });
    const [now] = world.api.pods;
    world.api.setPods();
    world.api.readPod = async () => now;
    await world.settle();
    clock.aheadMs += 3_600_000;
    await expect(world.settle()).rejects.toThrow("does not show yet");
    world.api.readPod = () => Promise.reject(new Error("unreachable"));
    await expect(world.settle()).rejects.toThrow("unreachable");
    expect(stateOf(next.sentry)).not.toMatch(/^Z?$/);
  });

  it("and gets a second sandbox, which starts anew, is reported as interrupted", async () => {
    const clock = new ShiftedClock();
    await using world = await wake({ clock });
    world.lab.mark("g1", { pod: user, outcome: "restoring", container: "sandbox-that-ended" });
    await world.lab.startPod({ uid: user });
    await world.settle();
    clock.aheadMs = 61_000;
    await world.settle();
    expect(world.api.image?.status?.restore).toMatchObject({ podUID: user, reason: "RestoreInterrupted" });
  });

  it("is not reported as interrupted because the clock of the node was set while it is restored", async () => {
    const clock = new ShiftedClock();
    await using world = await wake({ clock });
    world.lab.mark("g1", { pod: user, outcome: "restoring", container: "not-created-yet" });
    await world.settle();
    using _set = vi.spyOn(clock, "now").mockImplementation(() => new Date(Date.now() + 3_600_000));
    await world.settle();
    expect(world.api.image?.status?.phase).toBe("Captured");
  });

  it("and is half restored ends as soon as it is deleted, also with a grace of an hour", async () => {
    await using world = await wake();
    const next = await world.lab.startPod({ uid: user });
    world.lab.mark("g1", { pod: user, outcome: "restored", container: next.id });
    const pod = podOf(world.lab, user, "g1");
    await world.settle();
    expect(stateOf(next.sentry)).not.toMatch(/^Z?$/);
    const ending = { deletionTimestamp: "2026-01-01T00:00:01Z", deletionGracePeriodSeconds: 3_600 };
    world.api.setPods({ ...pod, metadata: { ...pod.metadata, ...ending } });
    await world.settle();
    await vi.waitFor(() => expect(stateOf(next.sentry)).toMatch(/^Z?$/), 5_000);
    await world.settle();
    expect(world.api.image?.status?.restore).toMatchObject({ podUID: user, reason: "RestoreInterrupted" });
  });
});

describe("files without an owner", () => {
  it("are removed: an image whose Pod was refused and runs on without memory", async () => {
    await using world = await openAgentWorld();
    await world.capture();
    await world.deletePod();
    world.api.setPods(podOf(world.lab, user, "g1"));
    const refused = { pod: user, reason: "NoPublicKey", message: "no key" };
    writeFileSync(world.lab.path("images/default/guest/g1.refused"), JSON.stringify(refused));
    await world.settle();
    expect(world.api.image?.status).toMatchObject({ phase: "Captured", refused: { podUID: user } });
    expect(world.lab.has(image("image.json")), "another Pod may get it").toBe(true);
    world.api.image = undefined;
    await world.settle();
    expect(world.lab.files()).toEqual(["images/default/guest/g1.refused"]);
    world.api.setPods();
    await world.settle();
    expect(world.lab.files()).toEqual([]);
  });

  it("are removed: parts, images, marks and broken images", async () => {
    await using world = await openAgentWorld();
    world.api.image = undefined;
    world.api.setPods();
    mkdirSync(world.lab.path("images/default/guest/g1.part"), { recursive: true });
    mkdirSync(world.lab.path("images/default/guest/g1"), { recursive: true });
    writeFileSync(world.lab.path(image("image.json")), "{");
    world.lab.mark("g1", { pod: "x", outcome: "restored" });
    await world.settle();
    expect(world.lab.files()).toEqual([]);
    expect(world.lab.has("images/default")).toBe(false);
  });

  it("are removed: an image that nobody has used, with the folders that were made for it", async () => {
    await using world = await openAgentWorld();
    await world.capture();
    await world.deletePod();
    world.api.image = undefined;
    world.api.setPods();
    await world.settle();
    expect(world.lab.files()).toEqual([]);
    expect(world.lab.has("images/default")).toBe(false);
  });

  it("are removed: a mark that a shim had only begun to write", async () => {
    await using world = await openAgentWorld();
    world.api.image = undefined;
    mkdirSync(world.lab.path("images/default/guest"), { recursive: true });
    writeFileSync(world.lab.path("images/default/guest/g1.json.new"), "");
    await world.settle();
    expect(world.lab.files()).toEqual([]);
  });
});
