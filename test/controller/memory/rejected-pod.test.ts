import { describe, expect, it, vi } from "vitest";
import type { Pod } from "../../../api/kinds/pod.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { memoryImageAnnotation, signatureAnnotation } from "../../../api/rules/keys.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import type { InterceptedCall } from "../../support/fakes/intercepted-client.ts";
import { images, kept, metric, openRunning, untilTold } from "../../support/labs/memory-lab.ts";
import { type SleepLab, waiting } from "../../support/labs/sleep-lab.ts";

const words = 'admission webhook "names.example.com" denied the request: an image has to have a tag';
const rejection = (code: number, message = words) =>
  new ApiError(code, { apiVersion: "v1", kind: "Status", status: "Failure", code, message });

const restored = { lastWake: { mode: "Restored", durationMilliseconds: 412 } };
const anew = { lastWake: { mode: "Anew", reason: "PodRejected" } };

const none = { memory: 0, dryRuns: 0, cold: 0, signatures: 0 };
type Attempt = keyof typeof none;

/** What the API server says of a Pod that goes on from memory, of its signature, and of Pods without memory; nothing: it accepts them. */
type Policy = { [A in Attempt]?: ((attempt: number) => ApiError | undefined) | undefined };

function attemptOf({ verb, kind, body, dryRun }: InterceptedCall): Attempt | undefined {
  if (kind !== "Pod") return undefined;
  if (verb === "patch") return JSON.stringify(body).includes(signatureAnnotation) ? "signatures" : undefined;
  if (verb !== "create") return undefined;
  if ((body as Pod).metadata.annotations?.[memoryImageAnnotation] !== undefined) return "memory";
  return dryRun ? "dryRuns" : "cold";
}

/** A sandbox that sleeps with its memory, in a cluster that gets a policy then. */
async function openAsleep() {
  const policy: Policy = {};
  const attempts = { ...none };
  const running = await openRunning({}, (call, proceed) => {
    const attempt = attemptOf(call);
    if (attempt === undefined) return proceed();
    attempts[attempt] += 1;
    const refusal = policy[attempt]?.(attempts[attempt]);
    return refusal ? Promise.reject(refusal) : proceed();
  });
  const { lab } = running;
  await lab.change({ operatingMode: "Suspended" });
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
  Object.assign(attempts, none);
  return { ...running, policy, attempts };
}

const untilReadyIs = (lab: SleepLab, reason: string) =>
  vi.waitFor(async () => {
    const ready = findCondition((await lab.sandbox()).status?.conditions, "Ready");
    expect(ready?.reason).toBe(reason);
    return ready?.message;
  }, waiting);

describe("a Pod that goes on from memory and is rejected, where one without memory is not", () => {
  it.each([400, 403, 422])("is replaced by one without memory after a %i, and the sandbox tells it", async (code) => {
    await using asleep = await openAsleep();
    const { lab, agent, policy, attempts, controller } = asleep;
    policy.memory = () => rejection(code);
    await lab.change({ operatingMode: "Running" });
    const pod = await lab.untilReady();
    expect(pod.metadata.annotations).not.toHaveProperty([memoryImageAnnotation]);
    expect(pod.spec).toMatchObject({ nodeName: "node-1", containers: [{ image: "busybox" }] });
    await untilTold(lab, anew);
    expect(agent.restored).toEqual([]);
    const left = async () => (await images(lab)).map(({ spec }) => spec.podUID);
    await vi.waitFor(async () => expect(await left()).toEqual([pod.metadata.uid]), waiting);
    expect(attempts).toEqual({ memory: 2, dryRuns: 1, cold: 1, signatures: 0 });
    const notes = async () => [...(await lab.eventNotes("PodRejected")), ...(await lab.eventNotes("MemoryLost"))];
    await vi.waitFor(async () => expect(await notes()).toHaveLength(2), waiting);
    expect(await notes()).toEqual([
      expect.stringContaining(words),
      "Sandbox was started anew, without the memory that was kept: PodRejected",
    ]);
    const series = 'rouse_hibernation_wakes_total{mode="Anew",reason="PodRejected"}';
    expect(metric(await controller.metrics(), series)).toBe(1);
  });

  it("is replaced also where a webhook has no dry runs: else the sandbox would never wake", async () => {
    await using asleep = await openAsleep();
    const { lab, policy } = asleep;
    policy.memory = () => rejection(403);
    policy.dryRuns = () => rejection(400, 'admission webhook "old.example.com" does not support dry run');
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, anew);
    await lab.untilReady();
  });

  it("is deleted if only its signature is rejected, and was never restored", async () => {
    await using asleep = await openAsleep();
    const { lab, agent, policy, attempts } = asleep;
    policy.signatures = () => rejection(403);
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, anew);
    const pod = await lab.untilReady();
    expect(pod.metadata.annotations).not.toHaveProperty([memoryImageAnnotation]);
    expect(agent.restored).toEqual([]);
    expect(attempts).toEqual({ memory: 1, dryRuns: 1, cold: 1, signatures: 2 });
    await vi.waitFor(async () => expect(await lab.eventNotes("PodRejected")).toHaveLength(1), waiting);
  });
});

describe("the memory of a sandbox stays", () => {
  it("while a Pod without it would be rejected too, which is told as of every sandbox", async () => {
    await using asleep = await openAsleep();
    const { lab, policy, attempts } = asleep;
    policy.memory = () => rejection(403, "no digests");
    policy.dryRuns = () => rejection(403, "no Pods at all");
    await lab.change({ operatingMode: "Running" });
    expect(await untilReadyIs(lab, "ReconcilerError")).toBe("Error seen: no Pods at all");
    await vi.waitFor(() => expect(attempts.dryRuns).toBeGreaterThan(3), waiting);
    expect((await lab.sandbox()).status?.hibernation).toMatchObject(kept);
    policy.memory = undefined;
    await untilTold(lab, restored);
    // Each rejected Pod costs one dry run.
    expect(attempts.dryRuns).toBeLessThan(attempts.memory);
    expect(attempts.cold).toBe(0);
    expect(await lab.eventNotes("PodRejected")).toEqual([]);
  });

  it("while nobody knows whether a Pod without it would be rejected too", async () => {
    await using asleep = await openAsleep();
    const { lab, policy, attempts } = asleep;
    policy.memory = () => rejection(422);
    policy.dryRuns = () => rejection(500, "failed calling webhook");
    await lab.change({ operatingMode: "Running" });
    const told = await untilReadyIs(lab, "ReconcilerError");
    expect(told).toContain(words);
    expect(told).toContain("is not known: failed calling webhook");
    await vi.waitFor(() => expect(attempts.dryRuns).toBeGreaterThan(2), waiting);
    policy.memory = undefined;
    await untilTold(lab, restored);
    expect(attempts.cold).toBe(0);
  });

  it.each([
    { what: "after a 409", error: rejection(409) },
    { what: "after a 429", error: rejection(429) },
    { what: "after a 500", error: rejection(500) },
    { what: "while a quota is full", error: rejection(403, 'pods "nova" is forbidden: exceeded quota: q') },
  ])("$what, without a dry run", async ({ error }) => {
    await using asleep = await openAsleep();
    const { lab, policy, attempts } = asleep;
    policy.memory = (attempt) => (attempt <= 3 ? error : undefined);
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, restored);
    expect(attempts).toMatchObject({ dryRuns: 0, cold: 0 });
  });

  it("if its Pod is accepted after the dry run: what both depend on has come in between", async () => {
    await using asleep = await openAsleep();
    const { lab, policy, attempts } = asleep;
    policy.memory = (attempt) => (attempt === 1 ? rejection(403, "no such service account") : undefined);
    await lab.change({ operatingMode: "Running" });
    await untilTold(lab, restored);
    expect(attempts).toEqual({ memory: 2, dryRuns: 1, cold: 0, signatures: 1 });
  });
});
