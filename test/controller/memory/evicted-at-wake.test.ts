import { expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { memoryImageAnnotation, signatureAnnotation, signingGate, usedByAnnotation } from "../../../api/rules/keys.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { startFakeNodeAgent } from "../../support/fakes/fake-node-agent.ts";
import { type InterceptedCall, interceptCalls } from "../../support/fakes/intercepted-client.ts";
import { flags, hibernates, untilAnswered, untilTold, watching } from "../../support/labs/memory-lab.ts";
import { openSleepLab } from "../../support/labs/sleep-lab.ts";

const has = ({ body }: InterceptedCall, key: string): boolean => JSON.stringify(body ?? {}).includes(key);

/** The calls of a wake from memory, in their order. */
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
    name: "the patch that signs it",
    is: (call) => call.verb === "patch" && call.kind === "Pod" && has(call, signatureAnnotation),
  },
];

it.each(calls.flatMap(({ name, is }) => ["before", "after"].map((when) => ({ when, name, is }))))(
  "an image that is evicted $when $name: the sandbox starts anew, and says so",
  async ({ when, is }) => {
    await using lab = await openSleepLab();
    await using agent = startFakeNodeAgent(lab.client);
    agent.restore = () => undefined;
    const at = { namespace: "default", name: "" };
    const report = (status: object) =>
      lab.client.patch(memoryImageType, at, { type: "merge", body: { status } }, { subresource: "status" });
    let isToEvict = false;
    const client = interceptCalls(lab.client, async (call, proceed) => {
      if (!isToEvict || !is(call)) return proceed();
      isToEvict = false;
      if (when === "before") await report({ phase: "Lost", reason: "Evicted" });
      const result = await proceed();
      if (when === "after") await report({ phase: "Lost", reason: "Evicted" });
      return result;
    });
    await using _controller = await lab.startController({ client, flags });
    // The shim of a signed Pod finds no image any more, and the agent tells so.
    await using pods = startInformer<Pod>({ ...watching(lab), type: podType });
    pods.onChange(({ current }) => {
      const { annotations, uid } = current?.metadata ?? {};
      const isAsking = annotations?.[memoryImageAnnotation] && annotations[signatureAnnotation];
      if (isAsking && current?.spec?.nodeName) void report({ refused: { podUID: uid, reason: "ImageMissing" } });
    });
    await lab.create(hibernates);
    const { uid } = (await lab.untilReady()).metadata;
    at.name = `pod-${uid}`;
    await untilAnswered(lab, uid);
    await lab.change({ operatingMode: "Suspended" });
    expect((await lab.untilAsleep()).status?.hibernation?.state).toBe("Hibernated");
    isToEvict = true;
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, { lastWake: { mode: "Anew", reason: "Evicted" } });
    expect((await lab.untilReady()).spec?.schedulingGates ?? []).toEqual([]);
    const gone = async () => {
      const { items } = await lab.client.list(memoryImageType, { namespace: "default" });
      expect(items.map(({ metadata }) => metadata.name)).not.toContain(at.name);
    };
    await vi.waitFor(gone, 10_000);
  },
);
