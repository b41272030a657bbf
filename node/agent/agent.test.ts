import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Clock, systemClock, type Timer } from "../../lib/time/clock.ts";
import { type LabAgent, type LabAgentOptions, LabApi, startLabAgent } from "../../test/support/labs/mortal-agent.ts";
import { imageOf, NodeLab, podOf, sandboxUID, stateOf } from "../../test/support/labs/node-lab.ts";
import { Files } from "./doors/files.ts";

/** A clock that a test may move on, and whose timers may be faster. */
class ShiftedClock implements Clock {
  aheadMs = 0;
  readonly #hurried: number;

  /** A timer of `hurried` milliseconds ends at once. */
  constructor(hurried = Number.NaN) {
    this.#hurried = hurried;
  }

  now(): Date {
    return new Date(systemClock.now().getTime() + this.aheadMs);
  }

  ticksMs(): number {
    return systemClock.ticksMs() + this.aheadMs;
  }

  after(delayMs: number, task: () => void): Timer {
    return systemClock.after(delayMs === this.#hurried ? 20 : delayMs, task);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(delayMs, signal);
  }
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const image = (file: string) => `images/default/guest/g1/${file}`;

/** A Pod whose image may be asked for, and the agent of its node. */
async function open(options: LabAgentOptions = {}, shim?: string) {
  const lab = new NodeLab();
  const pod = await lab.startPod(shim === undefined ? {} : { shim });
  const api = new LabApi(lab);
  api.setPods(podOf(lab, pod.uid));
  api.put(imageOf(lab, pod.uid));
  const { settle, registry, agent }: LabAgent = startLabAgent(lab, api, options);
  const capture = async () => {
    api.setStage("Capture");
    await settle();
  };
  /** The Pod is deleted, and its sentry has ended. */
  const deletePod = async () => {
    api.setPods({
      ...podOf(lab, pod.uid),
      metadata: { ...podOf(lab, pod.uid).metadata, deletionTimestamp: "2026-01-01T00:00:01Z" },
    });
    await settle();
    await vi.waitFor(() => expect(stateOf(pod.sentry)).not.toBe("T"), 5_000);
  };
  const metric = async (name: string) => (await registry.metrics()).split("\n").filter((line) => line.startsWith(name));
  return {
    lab,
    pod,
    api,
    agent,
    settle,
    capture,
    deletePod,
    metric,
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}

describe("a preflight", () => {
  it("says that a Pod in gVisor can be captured, and touches nothing", async () => {
    await using world = await open();
    await world.settle();
    expect(world.api.image?.status).toEqual({ preflight: { capturable: true } });
    expect(world.lab.files()).toEqual([]);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("refuses a Pod of another shim, which could not restore it", async () => {
    await using world = await open({}, "containerd-shim-runsc-v1");
    await world.settle();
    expect(world.api.image?.status?.preflight).toMatchObject({ capturable: false, reason: "ForeignShim" });
  });

  it("refuses a Pod that the store has no room for, and says so once", async () => {
    await using world = await open({ limits: { maxStoreBytes: 1_000, minFreeBytes: 0, maxNamespacePercent: 100 } });
    await world.settle();
    expect(world.api.image?.status?.preflight).toMatchObject({ capturable: false, reason: "StoreFull" });
    const version = world.api.image?.metadata.resourceVersion;
    await world.settle();
    expect(world.api.image?.metadata.resourceVersion).toBe(version);
  });

  it("refuses a Pod whose disk would become too full", async () => {
    await using world = await open({ limits: { maxStoreBytes: 0, minFreeBytes: 2 ** 60, maxNamespacePercent: 100 } });
    await world.settle();
    expect(world.api.image?.status?.preflight).toMatchObject({ capturable: false, reason: "DiskFull" });
  });
});

describe("a capture", () => {
  it("freezes the Pod, writes what the shim restores from, and reports it", async () => {
    await using world = await open();
    await world.capture();
    const { status } = world.api.image ?? {};
    expect(status).toMatchObject({ phase: "Captured", runscVersion: "v0.0.0-test" });
    expect(status?.imageHash).toBe(sha256(readFileSync(world.lab.path(image("image.json")), "utf8")));
    expect(stateOf(world.pod.sentry)).toBe("T");
    const described = JSON.parse(readFileSync(world.lab.path(image("image.json")), "utf8"));
    const memory = world.lab.memoryOf(world.pod);
    expect(described).toMatchObject({ runsc: "v0.0.0-test", containers: ["main"] });
    const facts = (text: string) => ({ bytes: text.length, sha256: sha256(text) });
    expect(described.files).toEqual({
      "checkpoint.img": facts("kernel\n"),
      "pages.img": facts(memory),
      "pages_meta.img": facts("pages\n"),
    });
    expect(described.configs).toEqual({ "": "config of the sandbox", main: "config of main" });
    expect(described).toMatchObject({ sandboxUID, runHash: "h" });
    expect(readFileSync(world.lab.path(image("pages.img")), "utf8")).toBe(memory);
    expect(world.lab.has("tombstones", `${world.pod.uid}.json`)).toBe(true);
    expect(await world.metric("rouse_node_captures_total")).toEqual(["rouse_node_captures_total 1"]);
    expect(await world.metric("rouse_node_frozen_pods")).toEqual(["rouse_node_frozen_pods 1"]);
  });

  it("that fails leaves no image, and the Pod goes on where it was", async () => {
    await using world = await open();
    using _failure = world.lab.letFail("checkpoint", "fails", "write pages.img: no space left on device");
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DiskFull" });
    expect(world.api.image?.status?.message).toContain("no space left on device");
    expect(world.lab.files()).toEqual([]);
    const before = world.lab.memoryOf(world.pod);
    await vi.waitFor(() => expect(world.lab.memoryOf(world.pod).length).toBeGreaterThan(before.length), 5_000);
    const [failed] = (await world.metric("rouse_node_capture_failures_total")).filter((line) => line.endsWith(" 1"));
    expect(failed).toContain('reason="DiskFull"');
  });

  it("that takes longer than its limit ends, and the Pod goes on", async () => {
    await using world = await open();
    using _hang = world.lab.letFail("checkpoint", "hangs");
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 1 }));
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(world.lab.files()).toEqual([]);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("that fails while gVisor still writes is thawed once, however long that takes", async () => {
    await using world = await open({ clock: new ShiftedClock(10_000) });
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 30 }));
    using _failure = world.lab.letFail("checkpoint", "fails");
    const hang = world.lab.letFail("resume", "hangs");
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed" });
    expect(stateOf(world.pod.sentry)).toBe("T");
    hang[Symbol.dispose]();
    await world.settle();
    expect(world.lab.calls("resume")).toBe(1);
    expect(stateOf(world.pod.sentry)).toBe("T");
  });

  it("that a restart of the agent has cut off is counted", async () => {
    await using world = await open();
    world.api.put(imageOf(world.lab, world.pod.uid, { stage: "Capture" }));
    const before = { namespace: "default", pod: "guest", image: "g1", podUID: world.pod.uid, isFinal: false };
    await startLabAgent(world.lab, world.api).doors.records.createTombstone(before);
    await world.settle();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "Interrupted" });
    const [counted] = await world.metric('rouse_node_capture_failures_total{reason="Interrupted"}');
    expect(counted).toMatch(/ 1$/);
  });

  it("whose thaw was ordered by an agent that has ended ends with its Pod", async () => {
    await using world = await open();
    using _failure = world.lab.letFail("checkpoint", "fails");
    using _hang = world.lab.letFail("resume", "fails");
    await expect(world.capture()).rejects.toThrow("resume");
    const next = startLabAgent(world.lab, world.api);
    await next.settle();
    expect(world.lab.calls("resume")).toBe(1);
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "CheckpointFailed" });
    expect(world.lab.files()).toEqual([]);
  });

  it("whose freeze never ends is given up at its limit, and the Pod ends: it may be half frozen", async () => {
    await using world = await open();
    using _hang = world.lab.letFail("pause", "hangs");
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 1 }));
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(world.lab.files()).toEqual([]);
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
  });

  it("whose freeze hangs ends as soon as its Pod is deleted", async () => {
    await using world = await open();
    using _hang = world.lab.letFail("pause", "hangs");
    const captured = world.capture();
    await vi.waitFor(() => expect(world.lab.has("tombstones", `${world.pod.uid}.json`)).toBe(true), 5_000);
    world.api.setPods();
    await captured;
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "FreezeFailed" });
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
  });

  it("that fills the disk ends with the sentry, which would go on to write", async () => {
    class FillingFiles extends Files {
      override async freeBytes(): Promise<number> {
        return hasBegun() ? 1_000 : 2 ** 40;
      }
    }
    const limits = { maxStoreBytes: 0, minFreeBytes: 2_000, maxNamespacePercent: 100 };
    await using world = await open({ limits, files: new FillingFiles() });
    const hasBegun = () => world.lab.has("images/default/guest/g1.part");
    using _hang = world.lab.letFail("checkpoint", "hangs");
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DiskFull" });
    expect(world.lab.files()).toEqual([]);
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
  });

  it("that has failed and is still written ends with the sentry if the disk gets full", async () => {
    let isFull = false;
    class FillingFiles extends Files {
      override async freeBytes(): Promise<number> {
        return isFull ? 1_000 : 2 ** 40;
      }
    }
    const limits = { maxStoreBytes: 0, minFreeBytes: 2_000, maxNamespacePercent: 100 };
    await using world = await open({ clock: new ShiftedClock(10_000), limits, files: new FillingFiles() });
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 30 }));
    using _failure = world.lab.letFail("checkpoint", "fails");
    using _hang = world.lab.letFail("resume", "hangs");
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed" });
    expect(stateOf(world.pod.sentry)).toBe("T");
    isFull = true;
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
  });

  it("of a Pod whose container was told to end before the freeze leaves no image", async () => {
    await using world = await open();
    mkdirSync(world.lab.path("killed", world.pod.uid), { recursive: true });
    writeFileSync(world.lab.path("killed", world.pod.uid, "c1"), "");
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "FreezeFailed" });
    expect(world.lab.has("images/default/guest/g1")).toBe(false);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
    const doors = startLabAgent(world.lab, world.api).doors;
    await doors.records.removeKilled((uid) => uid === world.pod.uid);
    expect(world.lab.has("killed", world.pod.uid)).toBe(false);
  });

  it("of a Pod that belongs to another Sandbox is refused, and the Pod is not frozen", async () => {
    await using world = await open();
    world.api.put(imageOf(world.lab, world.pod.uid, { sandboxUID: "another" }));
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "ForeignPod" });
    expect(world.lab.files()).toEqual([]);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("waits until the API has taken the report that it begins", async () => {
    await using world = await open();
    world.api.setStage("Capture");
    const stale = world.api.image;
    world.api.report = () => Promise.reject(new Error("unreachable"));
    await expect(world.settle()).rejects.toThrow("unreachable");
    expect(world.api.image).toBe(stale);
    expect(world.lab.files()).toEqual([]);
  });
});

describe("a captured Pod", () => {
  it("is ended once it is deleted, in a way that lets runsc delete it", async () => {
    await using world = await open();
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
    await using world = await open();
    await world.capture();
    const ofShim = join(world.lab.runsc.root, `${world.pod.id}_sandbox:${world.pod.id}.state.new`);
    writeFileSync(ofShim, "half a te");
    await world.deletePod();
    expect(readFileSync(ofShim, "utf8")).toBe("half a te");
    expect(world.lab.stateText(world.pod)).toContain('"status":"running"');
  });

  it("stays frozen when nobody deletes it, and also when its MemoryImage is deleted", async () => {
    await using world = await open();
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
    await using world = await open();
    await world.capture();
    await world.deletePod();
    world.api.setPods();
    rmSync(world.lab.path("images"), { recursive: true });
    await world.settle();
    expect(world.api.image?.status).toMatchObject({ phase: "Lost", reason: "ImageMissing" });
  });
});

describe("a Pod that asks for an image", () => {
  const user = "5a0d0b0c-0000-4000-8000-000000000002";

  /** The old Pod is gone, and the next one asks for its memory. */
  async function wake(options: LabAgentOptions = {}) {
    const world = await open(options);
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

  it("and gets a second sandbox, which starts anew, is reported as interrupted", async () => {
    const clock = new ShiftedClock();
    await using world = await wake({ clock });
    world.lab.mark("g1", { pod: user, outcome: "restoring", container: "sandbox-that-ended" });
    await world.lab.startPod({ uid: user });
    clock.aheadMs = 61_000;
    await world.settle();
    expect(world.api.image?.status?.restore).toMatchObject({ podUID: user, reason: "RestoreInterrupted" });
  });

  it("and is half restored ends some time after its deletion", async () => {
    const clock = new ShiftedClock();
    await using world = await wake({ clock });
    const next = await world.lab.startPod({ uid: user });
    world.lab.mark("g1", { pod: user, outcome: "restored", container: next.id });
    const pod = podOf(world.lab, user, "g1");
    world.api.setPods({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:01Z" } });
    await world.settle();
    expect(stateOf(next.sentry)).not.toMatch(/^Z?$/);
    clock.aheadMs = 41_000;
    await world.settle();
    await vi.waitFor(() => expect(stateOf(next.sentry)).toMatch(/^Z?$/), 5_000);
    await world.settle();
    expect(world.api.image?.status?.restore).toMatchObject({ podUID: user, reason: "RestoreInterrupted" });
  });
});

describe("files without an owner", () => {
  it("are removed: parts, images, marks and broken images", async () => {
    await using world = await open();
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
    await using world = await open();
    await world.capture();
    await world.deletePod();
    world.api.image = undefined;
    world.api.setPods();
    await world.settle();
    expect(world.lab.files()).toEqual([]);
    expect(world.lab.has("images/default")).toBe(false);
  });

  it("are removed: a mark that a shim had only begun to write", async () => {
    await using world = await open();
    world.api.image = undefined;
    mkdirSync(world.lab.path("images/default/guest"), { recursive: true });
    writeFileSync(world.lab.path("images/default/guest/g1.json.new"), "");
    await world.settle();
    expect(world.lab.files()).toEqual([]);
  });
});
