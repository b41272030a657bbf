import { expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import {
  memoryImageAnnotation,
  signatureAnnotation,
  signingGate,
  usedByAnnotation,
  withdrawnAnnotation,
} from "../../../api/rules/keys.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { startFakeNodeAgent } from "../../support/fakes/fake-node-agent.ts";
import type { InterceptedCall } from "../../support/fakes/intercepted-client.ts";
import { killedAt } from "../../support/fakes/killed-client.ts";
import { openSleepLab, type SleepLab, waiting } from "../../support/labs/sleep-lab.ts";

const flags = ["--hibernation"];
const spec = { containers: [{ name: "main", image: "busybox" }], nodeName: "node-1", runtimeClassName: "gvisor" };

const has = ({ body }: InterceptedCall, key: string): boolean => JSON.stringify(body ?? {}).includes(key);

type When = "before" | "after";

/** The calls of a wake from memory, in their order. The Pod is signed before the patch, without a call. */
const calls: readonly { readonly name: string; readonly is: (call: InterceptedCall) => boolean }[] = [
  {
    name: "the creation of the gated Pod",
    is: (call) => call.verb === "create" && call.kind === "Pod" && has(call, signingGate),
  },
  {
    name: "the promise of the image to that Pod",
    is: (call) => call.verb === "patch" && call.kind === "MemoryImage" && has(call, usedByAnnotation),
  },
  {
    name: "the patch that signs it and removes its gate",
    is: (call) => call.verb === "patch" && call.kind === "Pod" && has(call, signatureAnnotation),
  },
  { name: "the status", is: (call) => call.subresource === "status" && has(call, "Restored") },
];

/** The calls about a gated Pod that the controller finds, and whose image is promised to it. */
const callsOfDeletion: typeof calls = [
  {
    name: "the patch after which no signature fits it",
    is: (call) => call.verb === "patch" && call.kind === "Pod" && has(call, withdrawnAnnotation),
  },
  {
    name: "the patch that takes the promise back",
    is: (call) => call.verb === "patch" && call.kind === "MemoryImage" && has(call, `"${usedByAnnotation}":null`),
  },
  { name: "its deletion", is: (call) => call.verb === "delete" && call.kind === "Pod" },
];

const isSigning = calls[2]?.is ?? (() => false);

/** The Pods that asked for memory, with what was seen of each. */
function watchAsking({ client }: SleepLab) {
  const signatures = new Map<string, Set<string>>();
  const base = { client, namespace: "default", indexes: {}, clock: systemClock, log: silentLogger };
  const pods = startInformer<Pod>({ ...base, type: podType });
  pods.onChange(({ current }) => {
    const { uid, annotations } = current?.metadata ?? {};
    if (uid === undefined || annotations?.[memoryImageAnnotation] === undefined) return;
    const signature = annotations[signatureAnnotation];
    const seen = signatures.get(uid) ?? new Set();
    signatures.set(uid, signature === undefined ? seen : seen.add(signature));
  });
  return {
    signed: () => [...signatures].flatMap(([uid, seen]) => (seen.size > 0 ? [uid] : [])),
    [Symbol.asyncDispose]: () => pods[Symbol.asyncDispose](),
  };
}

/** A sandbox that sleeps with its memory. */
async function openAsleep() {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(await openSleepLab());
  const agent = stack.use(startFakeNodeAgent(lab.client));
  {
    await using _controller = await lab.startController({ flags });
    await lab.create({ suspensionStrategy: { type: "Hibernate" }, podTemplate: { spec } });
    await lab.untilReady();
    await vi.waitFor(async () => {
      const { items } = await lab.client.list(memoryImageType, { namespace: "default" });
      expect(items[0]?.status?.preflight?.capturable).toBe(true);
    }, waiting);
    await lab.change({ operatingMode: "Suspended" });
    expect((await lab.untilAsleep()).status?.hibernation?.state).toBe("Hibernated");
  }
  const asking = stack.use(watchAsking(lab));
  const opened = stack.move();
  return { lab, agent, asking, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Has a controller wake the sandbox, and die at this call. */
async function dieAt({ lab }: { readonly lab: SleepLab }, when: When, is: (call: InterceptedCall) => boolean) {
  const dying = killedAt(lab.client, when, is);
  await using _first = await lab.startController({ client: dying.client, flags });
  await lab.change({ operatingMode: "Running" });
  await dying.untilDead();
}

const bothWays = (all: typeof calls) =>
  all.flatMap(({ name, is }) => (["before", "after"] as const).map((when) => ({ when, name, is })));

it.each(bothWays(calls))(
  "a controller that dies $when $name: the next one restores the memory, once",
  async ({ when, is }) => {
    await using world = await openAsleep();
    const { lab, agent, asking } = world;
    await dieAt(world, when, is);
    const signedBefore = asking.signed();
    await using _second = await lab.startController({ flags });
    await vi.waitFor(async () => {
      expect((await lab.sandbox()).status?.hibernation?.lastWake?.mode).toBe("Restored");
    }, waiting);
    const pod = await lab.untilReady();
    // The Pod that had a signature has the memory, and no other Pod has ever had one.
    expect(asking.signed()).toEqual([pod.metadata.uid]);
    expect(signedBefore.every((uid) => uid === pod.metadata.uid)).toBe(true);
    expect(agent.restored).toEqual([pod.metadata.uid]);
    expect(pod.spec?.schedulingGates ?? []).toEqual([]);
  },
);

it.each(bothWays(callsOfDeletion))(
  "a controller that deletes an unsigned Pod and dies $when $name: the next one restores the memory",
  async ({ when, is }) => {
    await using world = await openAsleep();
    const { lab, agent, asking } = world;
    await dieAt(world, "before", isSigning);
    await dieAt(world, when, is);
    expect(asking.signed()).toEqual([]);
    await using _third = await lab.startController({ flags });
    await vi.waitFor(async () => {
      expect((await lab.sandbox()).status?.hibernation?.lastWake?.mode).toBe("Restored");
    }, waiting);
    const pod = await lab.untilReady();
    expect([asking.signed(), agent.restored]).toEqual([[pod.metadata.uid], [pod.metadata.uid]]);
  },
);
