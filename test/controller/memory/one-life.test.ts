import { expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { adoptableLabel, memoryImageAnnotation, signatureAnnotation } from "../../../api/rules/keys.ts";
import type { InterceptedCall } from "../../support/fakes/intercepted-client.ts";
import { killedAt } from "../../support/fakes/killed-client.ts";
import { flags, gvisor, images, kept, openRunning, untilTold } from "../../support/labs/memory-lab.ts";
import { type SleepLab, waiting } from "../../support/labs/sleep-lab.ts";

// No Pod goes on from memory that is older than the life of another Pod, whatever the status says.

type Running = Awaited<ReturnType<typeof openRunning>>;

/** A sandbox that sleeps with its memory, and no controller. */
async function sleepWithMemory({ lab, controller }: Running) {
  await lab.change({ operatingMode: "Suspended" });
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
  await controller[Symbol.asyncDispose]();
}

/** A controller wakes the sandbox, and is killed by this call. */
async function wakeAndDie(lab: SleepLab, is: (call: InterceptedCall) => boolean) {
  const dying = killedAt(lab.client, "after", is);
  await using _first = await lab.startController({ flags, client: dying.client });
  await lab.change({ operatingMode: "Running" });
  await dying.untilDead();
}

const placed = (lab: SleepLab, former?: string) =>
  vi.waitFor(async () => {
    const pod = await lab.pod();
    if (!pod?.spec?.nodeName || pod.metadata.uid === former) throw new Error("no Pod has a node");
    return pod;
  }, waiting);

const asksFor = ({ metadata }: Stored<Pod>) => metadata.annotations?.[memoryImageAnnotation];

it("memory is given up before a Pod is adopted: it is older than the life of that Pod", async () => {
  await using running = await openRunning();
  const { lab, agent } = running;
  await sleepWithMemory(running);
  const metadata = { name: "nova", namespace: "default", labels: { [adoptableLabel]: "true" } };
  const stray = await lab.client.create(podType, { apiVersion: "v1", kind: "Pod", metadata, spec: gvisor.spec });
  await wakeAndDie(lab, ({ verb, kind, name }) => verb === "patch" && kind === "Pod" && name === "nova");
  expect((await lab.pod())?.metadata).toMatchObject({ uid: stray.metadata.uid, ownerReferences: [{ name: "nova" }] });
  await lab.change({ operatingMode: "Suspended" });
  await using _second = await lab.startController({ flags });
  await vi.waitFor(async () => expect(await lab.pod()).toBeUndefined(), waiting);
  await lab.untilAsleep();
  await lab.change({ operatingMode: "Running" });
  expect(asksFor(await placed(lab))).toBeUndefined();
  expect(agent.restored).toEqual([]);
});

it("a Pod that somebody makes for a sandbox that wakes costs its memory, and the wake tells it", async () => {
  await using running = await openRunning();
  const { lab, agent, pod } = running;
  await sleepWithMemory(running);
  const { name, namespace = "default", labels, ownerReferences } = pod.metadata;
  await lab.client.create(podType, {
    ...{ apiVersion: "v1", kind: "Pod", spec: gvisor.spec },
    metadata: { name, namespace, ...(labels && { labels }), ...(ownerReferences && { ownerReferences }) },
  });
  await lab.change({ operatingMode: "Running" });
  await using _second = await lab.startController({ flags });
  await untilTold(lab, { lastWake: { mode: "Anew", reason: "ForeignPod" } });
  await vi.waitFor(async () => expect(await lab.eventNotes("MemoryLost")).toHaveLength(1), waiting);
  expect(agent.restored).toEqual([]);
});

it("a Pod that somebody runs for a sandbox that sleeps costs its memory, and the status tells it", async () => {
  await using running = await openRunning();
  const { lab, pod } = running;
  await sleepWithMemory(running);
  const { name, namespace = "default", labels, ownerReferences } = pod.metadata;
  await lab.client.create(podType, {
    ...{ apiVersion: "v1", kind: "Pod", spec: gvisor.spec },
    metadata: { name, namespace, ...(labels && { labels }), ...(ownerReferences && { ownerReferences }) },
  });
  await using _second = await lab.startController({ flags });
  const message = "the controller had already given the memory up";
  await untilTold(lab, { state: "Stopped", reason: "ImageLost", message });
  await vi.waitFor(async () => expect(await images(lab)).toEqual([]), waiting);
});

it.each([
  ["was refused, and has lived anew", { podUID: "", reason: "NoPublicKey" }],
  ["nobody has said anything about", undefined],
])("memory is not used after a Pod that was made for it, which %s", async (_, refused) => {
  await using running = await openRunning();
  const { lab, agent } = running;
  agent.restore = () => undefined;
  await sleepWithMemory(running);
  const isSigning = ({ verb, body }: InterceptedCall) =>
    verb === "patch" && JSON.stringify(body ?? {}).includes(signatureAnnotation);
  await wakeAndDie(lab, isSigning);
  const first = await placed(lab);
  const [image] = await images(lab);
  if (refused) {
    const at = { namespace: "default", name: image?.metadata.name ?? "" };
    const status = { refused: { ...refused, podUID: first.metadata.uid } };
    await lab.client.patch(memoryImageType, at, { type: "merge", body: { status } }, { subresource: "status" });
  }
  expect((await lab.sandbox()).status?.hibernation).toMatchObject(kept);
  await lab.client.delete(podType, { namespace: "default", name: "nova" }, {});
  await using _second = await lab.startController({ flags });
  const next = await placed(lab, first.metadata.uid);
  expect([asksFor(first), asksFor(next)]).toEqual([image?.metadata.name, undefined]);
  await untilTold(lab, { lastWake: { mode: "Anew", reason: "AlreadyUsed" } });
  await vi.waitFor(async () => expect(await lab.eventNotes("MemoryLost")).toHaveLength(1), waiting);
});

it("memory is told as lost in the sleep if its Pod is gone and nobody knows what that got", async () => {
  await using running = await openRunning();
  const { lab, agent } = running;
  agent.restore = () => undefined;
  await sleepWithMemory(running);
  const isSigning = ({ verb, body }: InterceptedCall) =>
    verb === "patch" && JSON.stringify(body ?? {}).includes(signatureAnnotation);
  await wakeAndDie(lab, isSigning);
  await lab.change({ operatingMode: "Suspended" });
  await lab.client.delete(podType, { namespace: "default", name: "nova" }, {});
  await using _second = await lab.startController({ flags });
  const message = "the Pod created to restore the memory is gone, and it is unknown whether it received the memory";
  await untilTold(lab, { state: "Stopped", reason: "ImageLost", message });
});
