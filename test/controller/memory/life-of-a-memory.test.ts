import { describe, expect, it, vi } from "vitest";
import { podType, secretType } from "../../../api/kinds/core.ts";
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { type Hibernation, type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { signingSecretName } from "../../../api/protocols/memory-keys.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import {
  givenUpAnnotation,
  memoryImageAnnotation,
  runHashAnnotation,
  sealedPodAnnotation,
  signatureAnnotation,
  signingGate,
} from "../../../api/rules/keys.ts";
import { permitFor, signPermit } from "../../../controller/suspension/hibernation/permit.ts";
import { readSigningKey } from "../../../controller/suspension/hibernation/signing-key.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { agentPod, captured, startFakeNodeAgent } from "../../support/fakes/fake-node-agent.ts";
import { openSandboxLab } from "../../support/labs/sandbox-lab.ts";
import { openSleepLab, type SleepLab, waiting } from "../../support/labs/sleep-lab.ts";

const flags = ["--hibernation"];
const containers = [{ name: "main", image: "busybox" }];
const gvisor = { spec: { containers, nodeName: "node-1", runtimeClassName: "gvisor" } };
const hibernates: Partial<SandboxSpec> = { suspensionStrategy: { type: "Hibernate" }, podTemplate: gvisor };
const kept = {
  state: "Hibernated",
  node: "node-1",
  bytes: 31_000_000,
  capturedAt: "2026-01-01T12:00:00Z",
  durationMilliseconds: 100,
};

const images = async ({ client }: SleepLab): Promise<readonly Stored<MemoryImage>[]> =>
  (await client.list(memoryImageType, { namespace: "default" })).items;

const untilAnswered = (lab: SleepLab, podUid: string) =>
  vi.waitFor(async () => {
    const image = (await images(lab)).find(({ spec }) => spec.podUID === podUid);
    expect(image?.status?.preflight).toBeDefined();
    return image;
  }, waiting);

const untilTold = (lab: SleepLab, hibernation: unknown) =>
  vi.waitFor(async () => expect(withoutPod((await lab.sandbox()).status?.hibernation)).toEqual(hibernation), waiting);

/** Which Pod it is about. */
const withoutPod = ({ lastWake, ...rest }: Hibernation = {}): Hibernation => {
  const { podUID: _, ...wake } = lastWake ?? {};
  return { ...rest, ...(lastWake && { lastWake: wake as typeof lastWake }) };
};

const agentBecomes = ({ client }: SleepLab, ready: "True" | "False") => {
  const body = { status: { conditions: [{ type: "Ready", status: ready }] } };
  return client.patch(podType, agentPod, { type: "merge", body }, { subresource: "status" });
};

const metric = (text: string, series: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

const watching = ({ client }: SleepLab) => ({
  ...{ client, namespace: "default", indexes: {} },
  ...{ clock: systemClock, log: silentLogger },
});

/** A sandbox that runs, and whose agent has answered. */
async function openRunning(spec: Partial<SandboxSpec> = {}) {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(await openSleepLab());
  const agent = stack.use(startFakeNodeAgent(lab.client));
  const controller = stack.use(await lab.startController({ flags }));
  await lab.create({ ...hibernates, ...spec });
  const pod = await lab.untilReady();
  await untilAnswered(lab, pod.metadata.uid);
  const opened = stack.move();
  return { lab, agent, controller, pod, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

describe("a sandbox on a node whose agent can keep memory", () => {
  it("sleeps with its memory, and wakes with it, once and again", async () => {
    await using running = await openRunning();
    const { lab, agent, controller, pod } = running;
    const [image] = await images(lab);
    expect(image).toMatchObject({
      metadata: {
        name: `pod-${pod.metadata.uid}`,
        ownerReferences: [{ kind: "Sandbox", name: "nova", controller: true }],
      },
      spec: { podUID: pod.metadata.uid, podName: "nova", nodeName: "node-1", timeoutSeconds: 60, stage: "Preflight" },
    });
    expect(image?.metadata.ownerReferences?.[0]).not.toHaveProperty("blockOwnerDeletion");

    let uid = pod.metadata.uid;
    for (const round of [1, 2]) {
      await lab.change({ operatingMode: "Suspended" });
      expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
      expect(agent.captured).toHaveLength(round);
      expect(agent.captured.at(-1)).toBe(uid);
      await lab.change({ operatingMode: "Running" });
      const next = await lab.untilReady();
      expect(next.metadata.uid).not.toBe(uid);
      expect(next.metadata.annotations?.[memoryImageAnnotation]).toBe(`pod-${uid}`);
      expect(next.spec).toMatchObject({ affinity: { nodeAffinity: expect.anything() } });
      await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
      uid = next.metadata.uid;
      expect((await lab.sandbox()).status?.hibernation?.lastWake?.podUID).toBe(uid);
      // The old image goes, and the new Pod has its own.
      await untilAnswered(lab, uid);
      await vi.waitFor(async () => expect(await images(lab)).toHaveLength(1), waiting);
    }
    expect(await lab.eventNotes("MemoryRestored")).toContain("Sandbox goes on with its memory: restored in 412 ms");
    const text = await controller.metrics();
    expect(metric(text, "rouse_hibernation_captures_total")).toBe(2);
    expect(metric(text, 'rouse_hibernation_wakes_total{mode="Restored",reason=""}')).toBe(2);
    expect(await lab.eventNotes("MemoryNotKept")).toEqual([]);
  });

  it("is captured after its activators have promised, and deleted after its capture", async () => {
    await using running = await openRunning();
    const { lab, agent } = running;
    let isWoken = false;
    agent.capture = async () => {
      expect(lab.activator.questions).toContain("promise");
      expect((await lab.pod())?.metadata.deletionTimestamp).toBeUndefined();
      expect((await lab.sandbox()).status?.hibernation).toBeUndefined();
      // A wake in between waits for the next Pod: nothing is called off.
      await lab.change({ operatingMode: "Running" });
      isWoken = true;
      return captured;
    };
    await lab.change({ operatingMode: "Suspended" });
    await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
    expect(isWoken).toBe(true);
  });

  it("starts anew from its new template if what it runs was changed in its sleep", async () => {
    await using running = await openRunning();
    const { lab, agent, pod, controller } = running;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await lab.change({ podTemplate: { spec: { ...gvisor.spec, containers: [{ name: "main", image: "busybox:2" }] } } });
    await lab.change({ operatingMode: "Running" });
    const next = await lab.untilReady();
    expect(next.metadata.annotations).not.toHaveProperty([memoryImageAnnotation]);
    expect(next.metadata.annotations?.[runHashAnnotation]).not.toBe(pod.metadata.annotations?.[runHashAnnotation]);
    await untilTold(lab, { lastWake: { mode: "Anew", reason: "RunChanged" } });
    expect(agent.restored).toEqual([]);
    await vi.waitFor(
      async () => expect((await images(lab)).map(({ spec }) => spec.podUID)).toEqual([next.metadata.uid]),
      waiting,
    );
    expect(metric(await controller.metrics(), 'rouse_hibernation_wakes_total{mode="Anew",reason="RunChanged"}')).toBe(
      1,
    );
  });

  it.each([
    { outcome: "Failed", reason: "RestoreFailed" },
    { outcome: "Refused", reason: "RestoreRefused" },
  ] as const)("tells that it was started anew if the restore was $outcome", async ({ outcome, reason }) => {
    await using running = await openRunning();
    const { lab, agent } = running;
    agent.restore = () => ({ outcome });
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, { lastWake: { mode: "Anew", reason } });
  });

  it("tells that it is being restored until its node has said what it got", async () => {
    await using running = await openRunning();
    const { lab, agent } = running;
    agent.restore = () => undefined;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await lab.change({ operatingMode: "Running" });
    await lab.untilReady();
    await untilTold(lab, expect.objectContaining({ state: "Restoring", node: "node-1" }));
  });

  it.each([
    ["loses the memory", "ImageMissing", "ImageLost", "the node has lost the memory: ImageMissing"],
    ["needs the room of the memory", "Evicted", "Evicted", "the node needed the room for another memory"],
  ])("tells at once if its node %s during its sleep", async (_, said, reason, message) => {
    await using running = await openRunning();
    const { lab, pod } = running;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    const at = { namespace: "default", name: `pod-${pod.metadata.uid}` };
    const body = { status: { phase: "Lost", reason: said } };
    await lab.client.patch(memoryImageType, at, { type: "merge", body }, { subresource: "status" });
    await untilTold(lab, { state: "Stopped", reason, message });
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, { lastWake: { mode: "Anew", reason } });
  });

  it("tells that its memory is lost if somebody deletes its MemoryImage during its sleep", async () => {
    await using running = await openRunning();
    const { lab, pod } = running;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await lab.client.delete(memoryImageType, { namespace: "default", name: `pod-${pod.metadata.uid}` });
    const message = "no MemoryImage holds the memory any more";
    await untilTold(lab, { state: "Stopped", reason: "ImageLost", message });
  });

  it("has no image left once it no longer hibernates, and goes on from none", async () => {
    await using running = await openRunning();
    const { lab } = running;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await lab.change({ suspensionStrategy: { type: "Stop" } });
    await vi.waitFor(async () => expect(await images(lab)).toEqual([]), waiting);
    await lab.change({ operatingMode: "Running" });
    expect((await lab.untilReady()).metadata.annotations ?? {}).not.toHaveProperty([memoryImageAnnotation]);
  });
});

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
      message: "the node agent cannot capture it: NotOurGvisor: the runtime is not gVisor",
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

it("a Pod that its node does not take within a second is replaced by one without memory", async () => {
  await using running = await openRunning();
  const { lab, agent, pod } = running;
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  const names: string[] = [];
  await using pods = startInformer<Pod>({ ...watching(lab), type: podType });
  pods.onChange(({ current, previous }) => {
    if (current && !previous) names.push(current.metadata.annotations?.[memoryImageAnnotation] ?? "none");
  });
  agent.takesPods = false;
  const { nodeName: _, ...anywhere } = gvisor.spec;
  await lab.client.patch(
    sandboxType,
    { namespace: "default", name: "nova" },
    {
      type: "merge",
      body: { spec: { operatingMode: "Running", podTemplate: { spec: { ...anywhere, nodeName: null } } } },
    },
  );
  await untilTold(lab, { lastWake: { mode: "Anew", reason: "NotScheduled" } });
  expect(names).toEqual([`pod-${pod.metadata.uid}`, "none"]);
  expect(agent.restored).toEqual([]);
  expect((await lab.pod())?.spec).not.toHaveProperty("affinity");
  await vi.waitFor(async () => expect(await images(lab)).toEqual([]), waiting);
});

it("a Pod is restored with a signature for its own UID, which it gets after it was made, with its gate", async () => {
  await using running = await openRunning();
  const { lab } = running;
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  const [image] = await images(lab);
  if (!image) throw new Error("there is no image");
  const seen: { readonly isSigned: boolean; readonly gates: number }[] = [];
  await using pods = startInformer<Pod>({ ...watching(lab), type: podType });
  pods.onChange(({ current }) => {
    if (current?.metadata.annotations?.[memoryImageAnnotation] === undefined) return;
    const { annotations } = current.metadata;
    const gates = current.spec?.schedulingGates?.length ?? 0;
    seen.push({ isSigned: annotations[signatureAnnotation] !== undefined, gates });
  });
  await lab.change({ operatingMode: "Running" });
  await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
  const pod = await lab.pod();
  const key = await readSigningKey(
    { client: lab.client, namespace: "agent-sandbox-system" },
    AbortSignal.timeout(5_000),
  );
  const permit = pod && permitFor(pod, image);
  expect(pod?.metadata.annotations?.[signatureAnnotation]).toBe(permit && signPermit(permit, key));
  expect(seen[0]).toEqual({ isSigned: false, gates: 1 });
  expect(seen.filter(({ isSigned, gates }) => isSigned === gates > 0)).toEqual([]);
});

it("a Pod with the gate that the controller finds is deleted and made anew, and never signed", async () => {
  await using running = await openRunning();
  const { lab } = running;
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  const [image] = await images(lab);
  const sandbox = await lab.sandbox();
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "nova", uid: sandbox.metadata.uid };
  const signed = new Set<string>();
  await using pods = startInformer<Pod>({ ...watching(lab), type: podType });
  pods.onChange(({ current }) => {
    if (current?.metadata.annotations?.[signatureAnnotation]) signed.add(current.metadata.uid);
  });
  const foreign = await lab.client.create(podType, {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: {
      ...{ name: "nova", namespace: "default", ownerReferences: [{ ...owner, controller: true }] },
      annotations: { [memoryImageAnnotation]: image?.metadata.name ?? "" },
    },
    spec: { containers, runtimeClassName: "gvisor", schedulingGates: [{ name: signingGate }] },
  });
  await lab.change({ operatingMode: "Running" });
  await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
  expect([...signed]).toEqual([(await lab.pod())?.metadata.uid]);
  expect(signed.has(foreign.metadata.uid)).toBe(false);
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
  const message = "the controller cannot read its signing key";
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
