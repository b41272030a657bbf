import { describe, expect, it } from "vitest";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { annotationBytes, annotationBytesMax } from "../../../api/rules/annotation-limit.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../../api/rules/keys.ts";
import { isSuspensionComplete } from "../../../api/rules/suspension.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { aSandbox } from "../../../test/support/builders/builders.ts";
import { type InterceptedCall, interceptCalls } from "../../../test/support/fakes/intercepted-client.ts";
import { openSleepLab, type SleepLab, waiting } from "../../../test/support/labs/sleep-lab.ts";
import { passingTime } from "../../../test/support/passing-time.ts";
import { RejectedSuspensions } from "./rejected-suspensions.ts";

const where = { namespace: "default", name: "nova" };
const limit = { timeout: 60_000 };
/** Twice the longest pause between two attempts. */
const longMs = 1_200_000;
const flags = ["--activator-vanish-grace=1s"];
const tooLong = new ApiError(422, { apiVersion: "v1", kind: "Status", reason: "Invalid", message: "Too long" });

const annotate = (lab: SleepLab, a: string | null) =>
  lab.client.patch(sandboxType, where, { type: "merge", body: { metadata: { annotations: { a } } } });

const blockedOf = async (lab: SleepLab) =>
  findCondition((await lab.sandbox()).status?.conditions, "AutoSuspensionBlocked");

/** A client whose server rejects each value of this annotation. `others`: also under other fields of the patch. */
function rejecting(
  client: KubeClient,
  isRejected: (annotations: Readonly<Record<string, unknown>>, text: string) => boolean,
) {
  const state = { rejects: true, count: 0 };
  const annotationsOf = ({ body }: InterceptedCall) =>
    (body as { metadata?: { annotations?: Record<string, unknown> } } | undefined)?.metadata?.annotations ?? {};
  const intercepted = interceptCalls(client, (call, proceed) => {
    const isOne = call.verb === "patch" && isRejected(annotationsOf(call), JSON.stringify(call.body));
    if (!isOne || !state.rejects) return proceed();
    state.count += 1;
    return Promise.reject(tooLong);
  });
  return { client: intercepted, state };
}

describe("a sandbox without room for the annotations of its suspension", () => {
  it("says so, and sleeps as soon as there is room", limit, async () => {
    await using lab = await openSleepLab();
    const { clock, until } = passingTime();
    await using _controller = await lab.startController({ flags, clock });
    await lab.create({});
    await lab.untilReady();
    const { metadata } = await lab.sandbox();
    await annotate(lab, "x".repeat(annotationBytesMax - annotationBytes(metadata.annotations ?? {}) - 1));
    await lab.change({ autoSuspension: { inactivityTimeoutSeconds: 4 } });
    await until(async () => (await blockedOf(lab)) !== undefined, longMs);
    expect(await blockedOf(lab)).toMatchObject({ status: "True", reason: "AnnotationRejected" });
    expect((await lab.sandbox()).spec.operatingMode).not.toBe("Suspended");
    await annotate(lab, null);
    await until(async () => isSuspensionComplete(await lab.sandbox()), longMs);
    await until(async () => (await blockedOf(lab)) === undefined, longMs);
  });

  it("runs again when only its seal is rejected", limit, async () => {
    await using lab = await openSleepLab();
    const { client, state } = rejecting(lab.client, (annotations) => Boolean(annotations[sealedPodAnnotation]));
    const { clock, until } = passingTime();
    await using _controller = await lab.startController({ flags, client, clock });
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 4 } });
    const pod = await lab.untilReady();
    await until(async () => (await blockedOf(lab)) !== undefined, longMs);
    expect(await blockedOf(lab)).toMatchObject({ reason: "AnnotationRejected" });
    // It is tried again seconds later, so one read may show another attempt.
    const isUndone = ({ spec, metadata }: Sandbox) =>
      spec.operatingMode === "Running" && !metadata?.annotations?.[suspensionCauseAnnotation];
    await until(async () => isUndone(await lab.sandbox()), longMs);
    expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
    await until(async () => (await lab.eventNotes("SuspensionCancelled")).length > 0, longMs);
    expect(state.count).toBeGreaterThan(0);
  });

  it("stays as it is when a person suspends it, and says why and what to do", limit, async () => {
    await using lab = await openSleepLab();
    const { client, state } = rejecting(lab.client, (annotations) => Boolean(annotations[sealedPodAnnotation]));
    await using _controller = await lab.startController({ client });
    await lab.create({});
    await lab.untilReady();
    await lab.change({ operatingMode: "Suspended" });
    const advice = /seals the Pod, so the Pod stays. Remove annotations of this sandbox, or resume it: Too long$/;
    await expect
      .poll(() => lab.eventNotes("SandboxSuspensionFailed"), waiting)
      .toEqual([expect.stringMatching(advice)]);
    const ready = findCondition((await lab.sandbox()).status?.conditions, "Ready");
    expect(ready).toMatchObject({ status: "False", message: expect.stringMatching(advice) });
    state.rejects = false;
    await lab.untilAsleep();
  });
});

it("a suspension for inactivity continues when its cause cannot be written again after an edit", limit, async () => {
  await using lab = await openSleepLab();
  const { client, state } = rejecting(
    lab.client,
    (annotations, text) => Boolean(annotations[suspensionCauseAnnotation]) && !text.includes("operatingMode"),
  );
  const { clock, until } = passingTime();
  await using _controller = await lab.startController({ flags, client, clock });
  await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 4 } });
  await lab.untilReady();
  await until(async () => isSuspensionComplete(await lab.sandbox()), longMs);
  await lab.change({ autoResume: { timeoutSeconds: 60 } });
  await until(async () => state.count > 0, longMs);
  await until(async () => isSuspensionComplete(await lab.sandbox()), longMs);
  await until(async () => (await lab.eventNotes("AnnotationNotWritten")).length > 0, longMs);
  expect(await lab.eventNotes("AnnotationNotWritten")).toHaveLength(1);
});

it("a rejected suspension is tried after 10 s, twice as late each time, and after 10 min at the latest", () => {
  const clock = new FakeClock();
  const rejections = new RejectedSuspensions({ clock, log: silentLogger });
  const full = aSandbox({}, { annotations: { a: "full" } });
  const waits = Array.from({ length: 9 }, () => {
    rejections.add(full, tooLong);
    return (rejections.of(full)?.untilMs ?? 0) - clock.ticksMs();
  });
  expect(waits[0]).toBeLessThanOrEqual(10_000);
  expect(waits[1]).toBeGreaterThan(10_000);
  expect(waits.at(-1)).toBeGreaterThan(450_000);
  expect(waits.at(-1)).toBeLessThanOrEqual(600_000);
  expect(rejections.of(aSandbox({}, { annotations: {} }))).toBeUndefined();
  expect(rejections.size).toBe(0);
});
