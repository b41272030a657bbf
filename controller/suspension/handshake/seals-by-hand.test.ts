import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { sealedPodAnnotation } from "../../../api/rules/keys.ts";
import { formatSeal, sealOf } from "../../../api/rules/suspension.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { aPodOf, aSandbox, controlledBy, noon } from "../../../test/support/builders/builders.ts";
import { feedInformer } from "../../../test/support/fakes/fed-informer.ts";
import { interceptCalls } from "../../../test/support/fakes/intercepted-client.ts";
import { openSleepLab, waiting } from "../../../test/support/labs/sleep-lab.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { OwnWrites } from "../../own-writes.ts";
import { SuspensionMetrics } from "../suspension-metrics.ts";
import { RejectedSuspensions } from "./rejected-suspensions.ts";
import { Suspender } from "./suspender.ts";

const sealFor = (podName: string, podUid: string) => ({
  [sealedPodAnnotation]: formatSeal({ podName, podUid, cause: "Person", at: noon }),
});

it("a Pod of the sandbox that only the seal names is deleted, and the seal goes with it", async () => {
  await using lab = await openSleepLab();
  const calls: string[] = [];
  const client = interceptCalls(lab.client, (call, proceed) => {
    if (call.name === "hidden") calls.push(call.verb);
    return proceed();
  });
  await using _controller = await lab.startController({ client });
  const sandbox = await lab.create({ operatingMode: "Suspended" });
  const { namespace = "", name } = sandbox.metadata;
  const hidden = await lab.client.create(podType, {
    metadata: { namespace, name: "hidden", ownerReferences: [controlledBy(sandbox)] },
    spec: { containers: [{ name: "main", image: "busybox" }] },
  });
  const annotations = sealFor("hidden", hidden.metadata.uid);
  await lab.client.patch(sandboxType, { namespace, name }, { type: "merge", body: { metadata: { annotations } } });
  await expect.poll(async () => sealOf(await lab.sandbox()), waiting).toBeUndefined();
  expect(calls.filter((verb) => verb === "delete")).toHaveLength(1);
  expect(calls.length).toBeLessThan(15);
});

/** A suspender for a sandbox that is in the API server with the Pod `sealed`. */
async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const api = stack.use(await openMemoryApi());
  const calls: string[] = [];
  const client = interceptCalls(api.client, (call, proceed) => {
    calls.push(`${call.verb} ${call.kind} ${call.name}`);
    return proceed();
  });
  const clock = new FakeClock(noon);
  const { metadata, spec } = aSandbox({ operatingMode: "Suspended" });
  const at = { namespace: "default", name: metadata.name };
  const sandbox = await api.client.create<Sandbox>(sandboxType, { metadata: at, spec });
  const podMetadata = { ...at, name: "sealed", ownerReferences: [controlledBy(sandbox)] };
  const pod = await api.client.create<Pod>(podType, {
    metadata: podMetadata,
    spec: aPodOf(sandbox).spec ?? { containers: [] },
  });
  const suspender = stack.use(
    new Suspender({
      ...{ client, clock, askers: undefined, events: undefined, silenceLimitMs: 1_000, isFenced: () => false },
      sandboxes: stack.use(new OwnWrites(feedInformer<Sandbox>({}).informer, clock)),
      pods: stack.use(new OwnWrites(feedInformer<Pod, "trackedOwner">({ trackedOwner: () => [] }).informer, clock)),
      metrics: new SuspensionMetrics(new Registry()),
      rejections: new RejectedSuspensions({ clock, log: silentLogger }),
      onCancelled: () => {},
    }),
  );
  const withSeal = (podName: string, podUid: string): Stored<Sandbox> => ({
    ...sandbox,
    metadata: { ...sandbox.metadata, annotations: sealFor(podName, podUid) },
  });
  const opened = stack.move();
  return { calls, pod, suspender, withSeal, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

it("a Pod is not unsealed because another one, named by a former seal, is not there", async () => {
  await using world = await openWorld();
  const { calls, pod, suspender, withSeal } = world;
  const sealed = withSeal("sealed", pod.metadata.uid);
  const former = withSeal("gone", "uid-of-gone");
  const views = [former, former, sealed, sealed];
  const read = () => {
    const sandbox = views.shift();
    return sandbox && { sandbox, pods: [] };
  };
  await suspender.suspend(read, new AbortController().signal);
  expect(calls).toEqual(["get Pod gone", "get Pod sealed", "delete Pod sealed"]);
});

it("a handshake that does not come to rest is an error, so that its next pass waits longer each time", async () => {
  await using world = await openWorld();
  const { calls, suspender, withSeal } = world;
  let at = 0;
  const read = () => {
    at += 1;
    return { sandbox: withSeal(`gone-${at}`, "uid-of-gone"), pods: [] };
  };
  await expect(suspender.suspend(read, new AbortController().signal)).rejects.toThrow("after 20 steps");
  expect(calls).toHaveLength(20);
});
