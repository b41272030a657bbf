import { describe, expect, it } from "vitest";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../../api/rules/keys.ts";
import { isSuspensionComplete } from "../../../api/rules/suspension.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { openSleepLab, type SleepLab } from "../../../test/support/labs/sleep-lab.ts";
import { passingTime } from "../../../test/support/passing-time.ts";

const where = { namespace: "default", name: "nova" };
const limit = { timeout: 60_000 };
/** Twice the longest pause between two attempts. */
const longMs = 1_200_000;
const flags = ["--activator-vanish-grace=1s"];

/** A client whose server accepts each value of this annotation and stores none, and counts these writes. */
function taking(annotation: string, client: KubeClient) {
  const state = { takes: true, count: 0 };
  const patch: KubeClient["patch"] = (type, name, patched, options, signal) => {
    const body: unknown = patched.body;
    const { metadata, ...rest } = body as { metadata?: { annotations?: Readonly<Record<string, unknown>> } };
    if (!state.takes || !metadata?.annotations?.[annotation]) return client.patch(type, name, patched, options, signal);
    state.count += 1;
    const { [annotation]: _, ...annotations } = metadata.annotations;
    const kept = { type: "merge", body: { ...rest, metadata: { ...metadata, annotations } } } as const;
    return client.patch(type, name, kept, options, signal);
  };
  return { client: { ...client, patch }, state };
}

const conditionOf = async (lab: SleepLab, type: "Ready" | "AutoSuspensionBlocked") =>
  findCondition((await lab.sandbox()).status?.conditions, type);

describe("a seal that the API server accepts and does not keep", () => {
  it("is written a few times, and the status of a manual suspension says why the Pod stays", limit, async () => {
    await using lab = await openSleepLab();
    const { client, state } = taking(sealedPodAnnotation, lab.client);
    const { clock, until, pass } = passingTime();
    await using _controller = await lab.startController({ flags, client, clock });
    await lab.create({});
    const pod = await lab.untilReady();
    await lab.change({ operatingMode: "Suspended" });
    const message = expect.stringMatching(
      /not kept, so the Pod stays\. Correct .* without metadata\.annotations\.rouse/,
    );
    await until(async () => (await conditionOf(lab, "Ready"))?.status === "False", longMs);
    expect(await conditionOf(lab, "Ready")).toMatchObject({ message });
    await pass(120);
    expect(state.count).toBeGreaterThan(1);
    expect(state.count).toBeLessThan(15);
    expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
    state.takes = false;
    await until(async () => isSuspensionComplete(await lab.sandbox()), longMs);
  });

  it("cancels a suspension for inactivity, and the status says why", limit, async () => {
    await using lab = await openSleepLab();
    const { client } = taking(sealedPodAnnotation, lab.client);
    const { clock, until } = passingTime();
    await using _controller = await lab.startController({ flags, client, clock });
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 4 } });
    const pod = await lab.untilReady();
    await until(async () => (await conditionOf(lab, "AutoSuspensionBlocked")) !== undefined, longMs);
    expect(await conditionOf(lab, "AutoSuspensionBlocked")).toMatchObject({
      reason: "AnnotationRejected",
      message: expect.stringContaining("without metadata.annotations.rouse"),
    });
    await until(async () => (await lab.sandbox()).spec.operatingMode === "Running", longMs);
    expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
  });
});

it("an idle sandbox whose cause is not kept is not suspended as by a person", limit, async () => {
  await using lab = await openSleepLab();
  const { client, state } = taking(suspensionCauseAnnotation, lab.client);
  const { clock, until, pass } = passingTime();
  await using _controller = await lab.startController({ flags, client, clock });
  await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 4 } });
  const pod = await lab.untilReady();
  await until(async () => (await conditionOf(lab, "AutoSuspensionBlocked")) !== undefined, longMs);
  await pass(60);
  await until(async () => (await lab.client.get(sandboxType, where)).spec.operatingMode === "Running", longMs);
  expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
  expect(state.count).toBeLessThan(10);
  state.takes = false;
  await until(async () => isSuspensionComplete(await lab.sandbox()), longMs);
});
