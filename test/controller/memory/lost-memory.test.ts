import { describe, expect, it, vi } from "vitest";
import { signingSecretName } from "../../../api/between-programs/memory-keys.ts";
import { secretType } from "../../../api/kinds/core.ts";
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { givenUpAnnotation, sealedPodAnnotation } from "../../../api/rules/keys.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { agentPod, captured, startFakeNodeAgent } from "../../support/fakes/fake-node-agent.ts";
import {
  agentBecomes,
  flags,
  hibernates,
  images,
  kept,
  metric,
  openRunning,
  untilAnswered,
  untilTold,
  watching,
} from "../../support/labs/memory-lab.ts";
import { openSandboxLab } from "../../support/labs/sandbox-lab.ts";
import { openSleepLab, waiting } from "../../support/labs/sleep-lab.ts";

describe("a capture that leaves no memory", () => {
  it("that failed ends the Pod as in any suspension, and the status tells why", async () => {
    await using running = await openRunning();
    const { lab, agent, controller } = running;
    agent.capture = () => ({ phase: "Failed", reason: "DiskFull", message: "no space left on device" });
    await lab.change({ operatingMode: "Suspended" });
    const message = "the capture failed: DiskFull: no space left on device";
    expect((await lab.untilAsleep()).status?.hibernation).toEqual({
      state: "Stopped",
      reason: "CaptureFailed",
      message,
    });
    await vi.waitFor(async () => expect(await images(lab)).toEqual([]), waiting);
    const series = 'rouse_hibernation_refusals_total{reason="CaptureFailed",result="Stopped"}';
    await vi.waitFor(async () => expect(metric(await controller.metrics(), series)).toBe(1), waiting);
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, { lastWake: { mode: "Anew", reason: "CaptureFailed" } });
  });

  it("does not begin if the agent refused, or has not answered", async () => {
    await using running = await openRunning();
    const { lab, agent } = running;
    agent.preflight = { capturable: false, reason: "NotOurGvisor", message: "the runtime is not gVisor" };
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await lab.change({ operatingMode: "Running" });
    const next = await lab.untilReady();
    await untilAnswered(lab, next.metadata.uid);
    await lab.change({ operatingMode: "Suspended" });
    expect((await lab.untilAsleep()).status?.hibernation).toMatchObject({
      state: "Stopped",
      reason: "AgentRefused",
      message: "the node agent cannot capture the Pod: NotOurGvisor: the runtime is not gVisor",
    });
    agent.preflight = undefined;
    await lab.change({ operatingMode: "Running" });
    await lab.untilReady();
    await lab.change({ operatingMode: "Suspended" });
    expect((await lab.untilAsleep()).status?.hibernation).toMatchObject({ state: "Stopped", reason: "NoAnswer" });
    expect(agent.captured).toHaveLength(1);
  });

  it("does not begin if the agent is dead, whatever it has answered", async () => {
    await using running = await openRunning();
    const { lab, agent, controller } = running;
    await agentBecomes(lab, "False");
    await lab.change({ operatingMode: "Suspended" });
    const message = "its node has no node agent that is ready";
    const told = { state: "Stopped", reason: "AgentNotReady", message };
    expect((await lab.untilAsleep()).status?.hibernation).toEqual(told);
    expect(agent.captured).toEqual([]);
    expect(await lab.eventNotes("MemoryNotKept")).toEqual([`Sandbox is suspended without its memory: ${message}`]);
    const series = 'rouse_hibernation_refusals_total{reason="AgentNotReady",result="Stopped"}';
    await vi.waitFor(async () => expect(metric(await controller.metrics(), series)).toBe(1), waiting);
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, { lastWake: { mode: "Anew", reason: "AgentNotReady" } });
  });

  it("does not begin while the agent is dead: a sandbox that is to stay awake says so, until it is back", async () => {
    const suspensionStrategy = { type: "Hibernate", onFailure: "StayAwake" } as const;
    await using running = await openRunning({
      ...{ suspensionStrategy, autoSuspension: { inactivityTimeoutSeconds: 3_600 } },
    });
    const { lab } = running;
    const blocked = async () =>
      findCondition((await lab.sandbox()).status?.conditions, "AutoSuspensionBlocked")?.message ?? "";
    await vi.waitFor(async () => expect(await blocked()).toBe(""), waiting);
    await agentBecomes(lab, "False");
    await vi.waitFor(async () => expect(await blocked()).toContain("no node agent that is ready"), waiting);
    await agentBecomes(lab, "True");
    await vi.waitFor(async () => expect(await blocked()).toBe(""), waiting);
  });

  it("that the agent does not end is given up, and a late one is not used", async () => {
    await using running = await openRunning({ suspensionStrategy: { type: "Hibernate", timeoutSeconds: 1 } });
    const { lab, agent, pod } = running;
    agent.capture = () => undefined;
    const at = { namespace: "default", name: `pod-${pod.metadata.uid}` };
    const seen: string[] = [];
    await using watched = startInformer<MemoryImage>({ ...watching(lab), type: memoryImageType });
    watched.onChange(({ current }) => {
      if (!current?.metadata.annotations || seen.length > 0) return;
      seen.push(...Object.entries(current.metadata.annotations).flat());
      const late = { type: "merge", body: { status: captured } } as const;
      lab.client.patch(memoryImageType, at, late, { subresource: "status" }).catch(() => {});
    });
    await lab.change({ operatingMode: "Suspended" });
    expect((await lab.untilAsleep()).status?.hibernation).toMatchObject({ state: "Stopped", reason: "AgentSilent" });
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, { lastWake: { mode: "Anew", reason: "AgentSilent" } });
    expect(seen).toEqual([givenUpAnnotation, "AgentSilent"]);
    expect(agent.restored).toEqual([]);
  });
});

it("another controller ends a suspension whose capture has begun, and keeps the memory", async () => {
  await using lab = await openSleepLab();
  await using agent = startFakeNodeAgent(lab.client);
  const ended = Promise.withResolvers<typeof captured>();
  agent.capture = () => ended.promise;
  {
    await using _controller = await lab.startController({ flags });
    await lab.create(hibernates);
    const pod = await lab.untilReady();
    await untilAnswered(lab, pod.metadata.uid);
    await lab.change({ operatingMode: "Suspended" });
    await vi.waitFor(() => expect(agent.captured).toEqual([pod.metadata.uid]), waiting);
  }
  await using _controller = await lab.startController({ flags });
  ended.resolve(captured);
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
});

it("a controller that cannot read its key goes on without memory, says so, and keeps memory once it can", {
  timeout: 60_000,
}, async () => {
  await using lab = await openSleepLab();
  await using agent = startFakeNodeAgent(lab.client);
  {
    await using _controller = await lab.startController({ flags });
    await lab.create(hibernates);
    await untilAnswered(lab, (await lab.untilReady()).metadata.uid);
    await lab.change({ operatingMode: "Suspended" });
    expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
  }
  const at = { namespace: agentPod.namespace, name: signingSecretName };
  const secret = await lab.client.get(secretType, at);
  await lab.client.patch(secretType, at, { type: "merge", body: { data: { "ed25519.key": null } } });
  await using controller = await lab.startController({ flags });
  await lab.change({ operatingMode: "Running" });
  await untilTold(lab, { lastWake: { mode: "Anew", reason: "NoSigningKey" } });
  await untilAnswered(lab, (await lab.untilReady()).metadata.uid);
  await lab.change({ operatingMode: "Suspended" });
  const message =
    "the controller cannot read or make its signing key, or cannot write the public half of the key for the nodes";
  const told = { state: "Stopped", reason: "NoSigningKey", message };
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(told);
  expect(metric(await controller.metrics(), "rouse_hibernation_signing_key")).toBe(0);
  await lab.client.patch(secretType, at, { type: "merge", body: { data: secret.data } });
  await vi.waitFor(
    async () => expect(metric(await controller.metrics(), "rouse_hibernation_signing_key")).toBe(1),
    waiting,
  );
  await lab.change({ operatingMode: "Running" });
  await untilAnswered(lab, (await lab.untilReady()).metadata.uid);
  await lab.change({ operatingMode: "Suspended" });
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
  expect(agent.restored).toEqual([]);
});

it("a manual suspension captures memory also without activators", async () => {
  await using lab = await openSandboxLab({ flags });
  await using agent = startFakeNodeAgent(lab.controllerFreeClient);
  await lab.create(hibernates);
  await lab.untilCondition("Ready", { status: "True" });
  const answered = async () => {
    const { items } = await lab.controllerFreeClient.list(memoryImageType, { namespace: "default" });
    expect(items[0]?.status?.preflight).toBeDefined();
  };
  await vi.waitFor(answered, waiting);
  await lab.change({ operatingMode: "Suspended" });
  const asleep = await lab.untilCondition("Suspended", { status: "True" });
  expect(asleep.status?.hibernation).toEqual(kept);
  expect(asleep.metadata.annotations ?? {}).not.toHaveProperty([sealedPodAnnotation]);
  expect(agent.captured).toHaveLength(1);
});

it("memory goes when its sandbox expires and is retained, and the event tells it; later it starts anew", async () => {
  await using running = await openRunning({ shutdownPolicy: "Retain" });
  const { lab, agent } = running;
  await lab.change({ operatingMode: "Suspended" });
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
  await lab.change({ shutdownTime: "2026-01-01T00:00:00Z" });
  await vi.waitFor(async () => expect((await lab.sandbox()).status?.hibernation).toBeUndefined(), waiting);
  expect(await images(lab)).toEqual([]);
  const note = "Sandbox has expired, so the memory that was kept is removed";
  await vi.waitFor(async () => expect(await lab.eventNotes("MemoryLost")).toEqual([note]), waiting);
  const { metadata } = await lab.sandbox();
  await lab.client.patch(
    sandboxType,
    { namespace: "default", name: metadata.name },
    { type: "merge", body: { spec: { operatingMode: "Running", shutdownTime: null } } },
  );
  await lab.untilReady();
  expect(agent.restored).toEqual([]);
});
