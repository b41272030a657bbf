import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openAgentWorld, ShiftedClock } from "../../test/support/labs/agent-world.ts";
import { startLabAgent } from "../../test/support/labs/mortal-agent.ts";
import { imageOf, type NodeLab, stateOf } from "../../test/support/labs/node-lab.ts";
import { Files } from "./doors/files.ts";
import { removeLeft } from "./sweep.ts";

const day = 86_400_000;

/** As the shim does. The container of a Pod of the lab is called `ID-main`. */
function noteKill(lab: NodeLab, { uid }: { readonly uid: string }, container: string, writtenMs = Date.now()): void {
  const path = lab.path("killed", uid, container);
  mkdirSync(lab.path("killed", uid), { recursive: true });
  writeFileSync(path, "");
  utimesSync(path, writtenMs / 1_000, writtenMs / 1_000);
}

it("a Pod is not captured with another container than the one whose image was recorded", async () => {
  /** The tombstone is written, and the kubelet restarts a container before the freeze. */
  class RestartingFiles extends Files {
    override async create(path: string, text: string): Promise<void> {
      await super.create(path, text);
      if (isRestarted) world.lab.replaceContainer(world.pod, "main-2");
    }
  }
  let isRestarted = true;
  await using world = await openAgentWorld({ files: new RestartingFiles() });
  const recorded = async (id: string) => {
    const containerImages = [{ name: "main", image: "busybox@sha256:1", containerID: `${world.pod.id}-${id}` }];
    world.api.put(imageOf(world.lab, world.pod.uid, { containerImages }));
    await world.capture();
    return world.api.image?.status;
  };
  expect(await recorded("main")).toMatchObject({ phase: "Failed", reason: "FreezeFailed" });
  expect(world.api.image?.status?.message).toContain("was restarted");
  expect(stateOf(world.pod.sentry)).not.toBe("T");
  isRestarted = false;
  expect(await recorded("main-2")).toMatchObject({ phase: "Captured" });
});

describe("a note that a container was told to end", () => {
  it("that comes before the freeze ends the capture, and the Pod goes on", async () => {
    /** The tombstone is written, and the Pod is about to be frozen. */
    class NotingFiles extends Files {
      override async create(path: string, text: string): Promise<void> {
        await super.create(path, text);
        noteKill(world.lab, world.pod, `${world.pod.id}-main`);
      }
    }
    await using world = await openAgentWorld({ files: new NotingFiles() });
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "FreezeFailed" });
    expect(world.lab.has("images/default/guest/g1")).toBe(false);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("speaks against a capture before the Pod is frozen, until the container is gone", async () => {
    await using world = await openAgentWorld();
    await world.settle();
    noteKill(world.lab, world.pod, `${world.pod.id}-main`);
    await world.settle();
    const refusal = { capturable: false, reason: "ContainerEnding" };
    expect(world.api.image?.status?.preflight).toMatchObject(refusal);
    world.lab.replaceContainer(world.pod, "main-2");
    await world.settle();
    expect(world.api.image?.status?.preflight).toEqual({ capturable: true });
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Captured" });
  });

  it("ends a capture that is asked for before the Pod is frozen", async () => {
    await using world = await openAgentWorld();
    noteKill(world.lab, world.pod, `${world.pod.id}-main`);
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "ContainerEnding" });
    expect(world.lab.calls("pause")).toBe(0);
  });

  it("stays while gVisor has the container, and goes a minute after it was written if not", async () => {
    await using world = await openAgentWorld();
    const { doors } = startLabAgent(world.lab, world.api);
    const old = Date.now() - day;
    noteKill(world.lab, world.pod, `${world.pod.id}-main`, old);
    noteKill(world.lab, world.pod, "container-of-before", old);
    noteKill(world.lab, world.pod, "container-of-now");
    noteKill(world.lab, { uid: "gone" }, "container-of-a-pod-that-is-gone", old);
    await removeLeft(doors);
    const kept = [`killed/${world.pod.uid}/${world.pod.id}-main`, `killed/${world.pod.uid}/container-of-now`];
    expect(world.lab.files()).toEqual(kept.sort());
    expect(world.lab.has("killed", "gone")).toBe(false);
  });
});

it("a state file that an agent or a shim had only begun to write goes after a minute", async () => {
  await using world = await openAgentWorld();
  const { doors } = startLabAgent(world.lab, world.api);
  const { root } = world.lab.runsc;
  const before = readdirSync(root);
  const state = `${world.pod.id}_sandbox:${world.pod.id}.state`;
  const put = (name: string, writtenMs: number) => {
    writeFileSync(join(root, name), "{");
    utimesSync(join(root, name), writtenMs / 1_000, writtenMs / 1_000);
  };
  const old = Date.now() - day;
  for (const name of [`${state}.agent.new`, `${state}.1234567.new`]) put(name, old);
  const kept = [`${state}.7654321.new`, `${state}.tmp`, "other.new"];
  for (const name of kept) put(name, name.endsWith("7654321.new") ? Date.now() : old);
  await removeLeft(doors);
  expect(readdirSync(root).sort()).toEqual([...before, ...kept].sort());
});

describe("a capture", () => {
  it.each([
    ["is deleted", { deletionTimestamp: "2026-01-01T00:00:01Z" }],
    ["is another one of that name", { uid: "another" }],
    ["is gone", undefined],
  ])("of a Pod that by the API %s, which the watch has not shown yet, leaves no image", async (_, changes) => {
    await using world = await openAgentWorld();
    const now: { states: unknown[] } = { states: [] };
    world.api.readPod = async () => {
      now.states.push(stateOf(world.pod.sentry));
      const [pod] = world.api.pods;
      return changes && pod && { ...pod, metadata: { ...pod.metadata, ...changes } };
    };
    await world.capture();
    expect(now.states, "it is asked once the Pod is frozen").toEqual(["T"]);
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "FreezeFailed" });
    expect(world.lab.files()).toEqual([]);
    expect(world.lab.calls("checkpoint")).toBe(0);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("of a Pod about which the API does not answer leaves no image, and the Pod goes on", async () => {
    await using world = await openAgentWorld();
    world.api.readPod = () => Promise.reject(new Error("connect ECONNREFUSED"));
    await world.capture();
    const status = { phase: "Failed", reason: "FreezeFailed", message: "connect ECONNREFUSED" };
    expect(world.api.image?.status).toMatchObject(status);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it.each([
    ["gives up", { annotations: { "hibernation.rouse.dev/given-up": "AgentSilent" } }],
    ["deletes", { deletionTimestamp: "2026-01-01T00:00:01Z" }],
    ["replaces", { uid: "another" }],
  ])("that the controller %s ends before its limit, and the Pod goes on", async (_, changes) => {
    await using world = await openAgentWorld();
    using _hang = world.lab.letFail("checkpoint", "hangs");
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 60 }));
    const captured = world.capture();
    await expect.poll(() => world.lab.hasHung("checkpoint"), { timeout: 10_000 }).toBe(true);
    const now = world.api.image ?? expect.unreachable();
    world.api.put({ ...now, metadata: { ...now.metadata, ...changes } });
    await captured;
    const { reason } = world.api.image?.status ?? {};
    if (!("uid" in changes)) expect(reason).toBe("GivenUp");
    expect(await world.metric('rouse_node_capture_failures_total{reason="GivenUp"}')).toEqual([
      'rouse_node_capture_failures_total{reason="GivenUp"} 1',
    ]);
    expect(world.lab.files()).toEqual([]);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("whose MemoryImage is gone ends before its limit, and the Pod goes on", async () => {
    await using world = await openAgentWorld();
    using _hang = world.lab.letFail("checkpoint", "hangs");
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 60 }));
    const captured = world.capture();
    await expect.poll(() => world.lab.hasHung("checkpoint"), { timeout: 10_000 }).toBe(true);
    world.api.image = undefined;
    await captured;
    expect(world.lab.files()).toEqual([]);
    expect(stateOf(world.pod.sentry)).not.toBe("T");
  });

  it("that was given up while it waited for others is not begun", async () => {
    await using world = await openAgentWorld();
    world.api.setStage("Capture");
    await world.look();
    const due = world.api.image ?? expect.unreachable();
    expect(due.status?.phase).toBe("Capturing");
    const annotations = { "hibernation.rouse.dev/given-up": "AgentSilent" };
    world.api.put({ ...due, metadata: { ...due.metadata, annotations } });
    await world.settle();
    expect(world.lab.calls("pause")).toBe(0);
    expect(world.api.image?.status?.phase).toBe("Capturing");
  });

  it.each([
    [61_500, 0, { phase: "Failed", reason: "DeadlineExceeded" }],
    [50_000, 1, { phase: "Captured" }],
  ])("that has waited for others for %i ms of its 60 s is begun only if it can still end", async (...expected) => {
    const [waitedMs, pauses, status] = expected;
    const clock = new ShiftedClock();
    await using world = await openAgentWorld({ clock });
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 60, stage: "Capture" }));
    await world.look();
    clock.aheadMs = waitedMs;
    await world.settle();
    expect(world.lab.calls("pause")).toBe(pauses);
    expect(world.api.image?.status).toMatchObject(status);
    expect(stateOf(world.pod.sentry) === "T").toBe(pauses === 1);
  });

  it("that has waited for others has what is left of its time", async () => {
    const clock = new ShiftedClock();
    await using world = await openAgentWorld({ clock });
    using _hang = world.lab.letFail("checkpoint", "hangs");
    world.api.put(imageOf(world.lab, world.pod.uid, { timeoutSeconds: 60, stage: "Capture" }));
    await world.look();
    clock.aheadMs = 60_000;
    await world.settle();
    expect(world.lab.calls("checkpoint")).toBe(1);
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
  });
});
