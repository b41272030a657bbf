import { describe, expect, it, vi } from "vitest";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import { openSleepLab, type SleepLab } from "../../../test/support/labs/sleep-lab.ts";

const waiting = { timeout: 20_000, interval: 10 };

/** A sandbox whose Pod is sealed, and drains under a request. */
async function openDraining(lab: SleepLab) {
  lab.activator.onPromise = () => 1;
  const { metadata, spec } = await lab.create({ autoSuspension: { drainTimeoutSeconds: 600 } });
  const pod = await lab.untilReady();
  await lab.change({ operatingMode: "Suspended" });
  await expect.poll(async () => sealOf(await lab.sandbox())?.podUid, waiting).toBe(pod.metadata.uid);
  await expect.poll(() => lab.activator.questions.includes("promise"), waiting).toBe(true);
  const { namespace = "", name, uid } = metadata;
  const fenced = [{ sandbox: { namespace, name, uid }, podUid: pod.metadata.uid }];
  return { namespace, name, spec, fenced, pod };
}

/** As `kubectl replace` does: whatever the version, the manifest wins. */
const replace = (lab: SleepLab, { namespace, name, spec }: Awaited<ReturnType<typeof openDraining>>) =>
  vi.waitFor(async () => {
    const { apiVersion = "", kind = "", metadata } = await lab.sandbox();
    const { uid, resourceVersion, creationTimestamp } = metadata;
    const identity = { namespace, name, uid, resourceVersion, creationTimestamp };
    await lab.client.replace(sandboxType, { apiVersion, kind, metadata: identity, spec });
  }, waiting);

describe("a sandbox that is replaced as a whole while its Pod drains", () => {
  it.each([
    { leader: "the same leader", restarts: false },
    { leader: "the next leader", restarts: true },
  ])(
    "gets its next Pod from $leader, because the activators have fenced the former one",
    { timeout: 60_000 },
    async ({ restarts }) => {
      await using lab = await openSleepLab();
      await using stack = new AsyncDisposableStack();
      const first = await lab.startController();
      if (!restarts) stack.use(first);
      const draining = await openDraining(lab);
      if (restarts) await first[Symbol.asyncDispose]();
      await replace(lab, draining);
      expect(sealOf(await lab.sandbox())).toBeUndefined();
      if (restarts) stack.use(await lab.startController());
      lab.activator.onPromise = () => 0;
      lab.activator.fenced = draining.fenced;
      await expect.poll(async () => (await lab.untilReady()).metadata.uid, waiting).not.toBe(draining.pod.metadata.uid);
      lab.activator.fenced = [];
      await expect.poll(async () => sealOf(await lab.sandbox()), waiting).toBeUndefined();
      expect((await lab.sandbox()).spec.operatingMode ?? "Running").toBe("Running");
    },
  );
});
