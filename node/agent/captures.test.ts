import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { image, openAgentWorld, ShiftedClock, sha256 } from "../../test/support/labs/agent-world.ts";
import { startLabAgent } from "../../test/support/labs/mortal-agent.ts";
import { imageOf, sandboxUID, stateOf } from "../../test/support/labs/node-lab.ts";
import { Files } from "./doors/files.ts";
import { Processes } from "./doors/processes.ts";

describe("a preflight", () => {
  it("says that a Pod in gVisor can be captured, and touches nothing", async () => {
    await using world = await openAgentWorld();
    await world.settle();
    expect(world.api.image?.status).toEqual({ preflight: { capturable: true } });
    expect(world.lab.files()).toEqual([]);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("refuses a Pod of another shim, which could not restore it", async () => {
    await using world = await openAgentWorld({}, "containerd-shim-runsc-v1");
    await world.settle();
    expect(world.api.image?.status?.preflight).toMatchObject({ capturable: false, reason: "ForeignShim" });
  });

  it("refuses a Pod that the store has no room for, and says so once", async () => {
    await using world = await openAgentWorld({
      limits: { maxStoreBytes: 1_000, minFreeBytes: 0, maxNamespacePercent: 100 },
    });
    await world.settle();
    expect(world.api.image?.status?.preflight).toMatchObject({ capturable: false, reason: "StoreFull" });
    const version = world.api.image?.metadata.resourceVersion;
    await world.settle();
    expect(world.api.image?.metadata.resourceVersion).toBe(version);
  });

  it("refuses a Pod whose disk would become too full", async () => {
    await using world = await openAgentWorld({
      limits: { maxStoreBytes: 0, minFreeBytes: 2 ** 60, maxNamespacePercent: 100 },
    });
    await world.settle();
    expect(world.api.image?.status?.preflight).toMatchObject({ capturable: false, reason: "DiskFull" });
  });
});

describe("a capture", () => {
  it("freezes the Pod, writes what the shim restores from, and reports it", async () => {
    await using world = await openAgentWorld();
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
    await using world = await openAgentWorld();
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
    await using world = await openAgentWorld();
    using _hang = world.lab.letFail("checkpoint", "hangs");
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 1 }));
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(world.lab.files()).toEqual([]);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("that fails while gVisor still writes is thawed once, however long that takes", async () => {
    await using world = await openAgentWorld({ clock: new ShiftedClock(10_000) });
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 30 }));
    using _failure = world.lab.letFail("checkpoint", "fails");
    const hang = world.lab.letFail("resume", "hangs");
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed" });
    expect(stateOf(world.pod.sentry)).toBe("T");
    await expect.poll(() => world.lab.hasHung("resume")).toBe(true);
    hang[Symbol.dispose]();
    await world.settle();
    expect(world.lab.calls("resume")).toBe(1);
    expect(stateOf(world.pod.sentry)).toBe("T");
  });

  it("that a restart of the agent has cut off is counted", async () => {
    await using world = await openAgentWorld();
    world.api.put(imageOf(world.lab, world.pod.uid, { stage: "Capture" }));
    const before = { namespace: "default", pod: "guest", image: "g1", podUID: world.pod.uid, isFinal: false };
    await startLabAgent(world.lab, world.api).doors.records.createTombstone(before);
    await world.settle();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "Interrupted" });
    const [counted] = await world.metric('rouse_node_capture_failures_total{reason="Interrupted"}');
    expect(counted).toMatch(/ 1$/);
  });

  it("whose agent was killed in the middle of the freeze ends with its Pod: it may be frozen", async () => {
    await using world = await openAgentWorld();
    world.api.put(imageOf(world.lab, world.pod.uid, { stage: "Capture" }));
    const before = { namespace: "default", pod: "guest", image: "g1", podUID: world.pod.uid, isFinal: false };
    await startLabAgent(world.lab, world.api).doors.records.createTombstone(before);
    process.kill(world.pod.sentry, "SIGSTOP");
    expect(world.lab.stateText(world.pod)).toContain('"status":"running"');
    await world.settle();
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "Interrupted" });
    expect(world.lab.files()).toEqual([]);
  });

  it("whose freeze is cut off by a signal ends with its Pod: it may be frozen", async () => {
    await using world = await openAgentWorld();
    using _killed = world.lab.letFail("pause", "killed");
    await world.capture();
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "FreezeFailed" });
    expect(world.lab.files()).toEqual([]);
  });

  it("that was cut off with its Pod frozen is thawed by the next agent", async () => {
    await using world = await openAgentWorld();
    world.api.put(imageOf(world.lab, world.pod.uid, { stage: "Capture" }));
    const { doors } = startLabAgent(world.lab, world.api);
    const before = { namespace: "default", pod: "guest", image: "g1", podUID: world.pod.uid, isFinal: false };
    await doors.records.createTombstone(before);
    await doors.runsc.pause(world.pod.id, new AbortController().signal);
    await world.settle();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "Interrupted" });
    expect(stateOf(world.pod.sentry)).toMatch(/^[SRD]$/);
  });

  it("whose thaw was ordered by an agent that has ended ends with its Pod", async () => {
    await using world = await openAgentWorld();
    using _failure = world.lab.letFail("checkpoint", "fails");
    using _hang = world.lab.letFail("resume", "fails");
    await expect(world.capture()).rejects.toThrow("resume");
    const next = startLabAgent(world.lab, world.api);
    const noted: unknown[] = [];
    const end = next.doors.sandboxes.end.bind(next.doors.sandboxes);
    vi.spyOn(next.doors.sandboxes, "end").mockImplementation(async (sandbox) => {
      noted.push(await next.doors.records.ofImage({ namespace: "default", pod: "guest", image: "g1" }));
      await end(sandbox);
    });
    await next.settle();
    expect(noted, "it is noted before: an end corrects the state file first").toMatchObject([
      { failed: { isEnding: true } },
    ]);
    expect(world.lab.calls("resume")).toBe(1);
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "CheckpointFailed" });
    expect(world.lab.files()).toEqual([]);
  });

  it("whose freeze never ends is given up at its limit, and the Pod ends: it may be half frozen", async () => {
    await using world = await openAgentWorld();
    using _hang = world.lab.letFail("pause", "hangs");
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 1 }));
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(world.lab.files()).toEqual([]);
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
  });

  it("whose freeze hangs ends as soon as its Pod is deleted", async () => {
    await using world = await openAgentWorld();
    using _hang = world.lab.letFail("pause", "hangs");
    const captured = world.capture();
    await vi.waitFor(() => expect(world.lab.has("tombstones", `${world.pod.uid}.json`)).toBe(true), 5_000);
    world.api.setPods();
    await captured;
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "FreezeFailed" });
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
  });

  it.each([
    ["that fills the disk beyond its promise ends with the sentry, which would go on to write", 2 ** 40, /^Z?$/],
    ["on a disk that others have filled ends, and its Pod goes on until SIGTERM", 0, /^[SRD]$/],
  ])("%s", async (_, writtenBytes, state) => {
    class FillingFiles extends Files {
      override async freeBytes(): Promise<number> {
        return hasBegun() ? 1_000 : 2 ** 40;
      }
      override async list(path: string): Promise<readonly string[]> {
        return path.endsWith(".part") ? ["pages.img"] : super.list(path);
      }
      override async bytesOf(path: string): Promise<number> {
        return path.endsWith(".part/pages.img") ? writtenBytes : super.bytesOf(path);
      }
    }
    const limits = { maxStoreBytes: 0, minFreeBytes: 2_000, maxNamespacePercent: 100 };
    await using world = await openAgentWorld({ limits, files: new FillingFiles() });
    const hasBegun = () => world.lab.has("images/default/guest/g1.part");
    using _hang = world.lab.letFail("checkpoint", "hangs");
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DiskFull" });
    expect(world.lab.files()).toEqual([]);
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(state), 5_000);
    expect(world.lab.calls("resume")).toBe(writtenBytes > 0 ? 0 : 1);
  });

  it.each([
    ["while gVisor writes ends with the sentry, which would write on", "checkpoint", /^Z?$/],
    ["after gVisor has written ends, and its Pod goes on until SIGTERM", "sync", /^[SRD]$/],
  ])("that breaks the limit of the store %s", async (_, hangs, state) => {
    let hasWritten = hangs === "checkpoint";
    const files = new (class extends Files {
      override async list(path: string): Promise<readonly string[]> {
        return path.endsWith(".part") ? ["pages.img"] : super.list(path);
      }
      override async bytesOf(path: string): Promise<number> {
        return path.endsWith(".part/pages.img") && hasWritten ? 2 ** 30 + 1 : super.bytesOf(path);
      }
      override async sync(path: string): Promise<void> {
        hasWritten ||= path.endsWith(".part/pages.img");
        await (path.endsWith(".part/pages.img") ? new Promise(() => {}) : super.sync(path));
      }
    })();
    const limits = { maxStoreBytes: 2 ** 30, minFreeBytes: 0, maxNamespacePercent: 100 };
    await using world = await openAgentWorld({ limits, files });
    using _hang = hangs === "checkpoint" ? world.lab.letFail("checkpoint", "hangs") : undefined;
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "StoreFull" });
    expect(world.lab.files()).toEqual([]);
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(state), 5_000);
  });

  it("that has failed and is still written ends beyond its promise on a full disk", async () => {
    const disk = { freeBytes: 2 ** 40, looks: 0, writtenBytes: 0 };
    class FillingFiles extends Files {
      override async freeBytes(): Promise<number> {
        disk.looks += 1;
        return disk.freeBytes;
      }
    }
    using _written = vi.spyOn(Processes.prototype, "openBytesOf").mockImplementation(async () => disk.writtenBytes);
    const limits = { maxStoreBytes: 0, minFreeBytes: 2_000, maxNamespacePercent: 100 };
    await using world = await openAgentWorld({ clock: new ShiftedClock(10_000), limits, files: new FillingFiles() });
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 30 }));
    using _failure = world.lab.letFail("checkpoint", "fails");
    using _hang = world.lab.letFail("resume", "hangs");
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed" });
    disk.freeBytes = 1_000;
    const { looks } = disk;
    await expect.poll(() => disk.looks, { timeout: 5_000 }).toBeGreaterThan(looks + 2);
    expect(stateOf(world.pod.sentry), "others have filled the disk").toBe("T");
    disk.writtenBytes = 2 ** 40;
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
  });

  it("of a Pod that belongs to another Sandbox is refused, and the Pod is not frozen", async () => {
    await using world = await openAgentWorld();
    world.api.put(imageOf(world.lab, world.pod.uid, { sandboxUID: "another" }));
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "ForeignPod" });
    expect(world.lab.files()).toEqual([]);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("waits until the API has taken the report that it begins", async () => {
    await using world = await openAgentWorld();
    world.api.setStage("Capture");
    const stale = world.api.image;
    world.api.report = () => Promise.reject(new Error("unreachable"));
    await expect(world.settle()).rejects.toThrow("unreachable");
    expect(world.api.image).toBe(stale);
    expect(world.lab.files()).toEqual([]);
  });
});
