import { describe, expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { memoryImageAnnotation, runHashAnnotation, signatureAnnotation, signingGate } from "../../../api/rules/keys.ts";
import { permitFor, signPermit } from "../../../controller/suspension/hibernation/permit.ts";
import { readSigningKey } from "../../../controller/suspension/hibernation/signing-key.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { captured } from "../../support/fakes/fake-node-agent.ts";
import {
  containers,
  gvisor,
  images,
  kept,
  metric,
  openRunning,
  untilAnswered,
  untilTold,
  watching,
} from "../../support/labs/memory-lab.ts";
import { waiting } from "../../support/labs/sleep-lab.ts";

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
    expect(await lab.eventNotes("MemoryRestored")).toContain("Sandbox continues with its memory: restored in 412 ms");
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
    ["needs the room of the memory", "Evicted", "Evicted", "the node needed the room for another memory image"],
  ])("tells at once if its node %s during its sleep", async (_, said, reason, message) => {
    await using running = await openRunning();
    const { lab, pod, controller } = running;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    const at = { namespace: "default", name: `pod-${pod.metadata.uid}` };
    const body = { status: { phase: "Lost", reason: said } };
    await lab.client.patch(memoryImageType, at, { type: "merge", body }, { subresource: "status" });
    await untilTold(lab, { state: "Stopped", reason, message });
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, { lastWake: { mode: "Anew", reason } });
    const count = async (series: string) => metric(await controller.metrics(), series);
    await vi.waitFor(
      async () => expect(await count(`rouse_hibernation_wakes_total{mode="Anew",reason="${reason}"}`)).toBe(1),
      waiting,
    );
    expect(await count(`rouse_hibernation_refusals_total{reason="${reason}",result="Stopped"}`)).toBe(1);
    expect(await lab.eventNotes("MemoryLost")).toEqual([]);
  });

  it("tells that its memory is lost if somebody deletes its MemoryImage during its sleep", async () => {
    await using running = await openRunning();
    const { lab, pod } = running;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await lab.client.delete(memoryImageType, { namespace: "default", name: `pod-${pod.metadata.uid}` });
    const message = "the MemoryImage was deleted, and not by the controller";
    await untilTold(lab, { state: "Stopped", reason: "ImageLost", message });
  });

  it("tells that its memory is lost once it no longer hibernates, and goes on from none", async () => {
    await using running = await openRunning();
    const { lab } = running;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await lab.change({ suspensionStrategy: { type: "Stop" } });
    await vi.waitFor(async () => expect(await images(lab)).toEqual([]), waiting);
    const told = {
      state: "Stopped",
      reason: "StrategyChanged",
      message: expect.stringContaining("no longer Hibernate"),
    };
    await untilTold(lab, told);
    await vi.waitFor(async () => expect(await lab.eventNotes("MemoryLost")).toHaveLength(1), waiting);
    await lab.change({ suspensionStrategy: { type: "Hibernate" } });
    await lab.change({ operatingMode: "Running" });
    expect((await lab.untilReady()).metadata.annotations ?? {}).not.toHaveProperty([memoryImageAnnotation]);
    await untilTold(lab, { lastWake: { mode: "Anew", reason: "StrategyChanged" } });
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
