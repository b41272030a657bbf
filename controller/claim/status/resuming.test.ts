import { describe, expect, it, vi } from "vitest";
import type { Condition, ObjectMeta } from "../../../api/kinds/meta.ts";
import { type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { isConditionTrue } from "../../../api/rules/conditions.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../../api/rules/keys.ts";
import { formatSeal, inactivityAt, type SuspensionCause } from "../../../api/rules/suspension.ts";
import { aPodOf, noon } from "../../../test/support/builders/builders.ts";
import { aClaimed, aCondition, aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { startFakeKubelet } from "../../../test/support/fakes/fake-kubelet.ts";
import { type ClaimLab, openClaimLab } from "../../../test/support/labs/claim-lab.ts";
import { waiting } from "../../../test/support/waiting.ts";
import { conclude } from "./conclude.ts";
import { resumeOf } from "./resuming.ts";

const at = (seconds: number) => new Date(Date.parse(noon) + seconds * 1_000);
const said = (condition: Partial<Condition>) => aCondition({ type: "Ready", status: "True", ...condition });
const sleptFor = said({ reason: "SandboxSuspended" });
const resuming = said({ reason: "SandboxResuming" });
const starting = { reason: "DependenciesNotReady", message: "Pod exists with phase: Pending" };

interface Parts {
  readonly before?: Condition;
  readonly ready?: Partial<Condition>;
  readonly spec?: Partial<SandboxSpec>;
  readonly metadata?: Partial<ObjectMeta>;
  readonly sealedBy?: SuspensionCause;
  readonly secondsAfter?: number;
}

/** A claim whose sandbox fell asleep by generation 3 an hour before noon, and was woken at noon. */
function situation({ before = sleptFor, ready = starting, spec, metadata, sealedBy, secondsAfter = 5 }: Parts = {}) {
  const claim = aSandboxClaim({}, {}, { conditions: [before] });
  const annotations = {
    [suspensionCauseAnnotation]: inactivityAt(3),
    ...(sealedBy && {
      [sealedPodAnnotation]: formatSeal({ podName: "task", podUid: "pod-1", cause: sealedBy, at: noon }),
    }),
  };
  const sandbox = aClaimed(
    claim,
    { generation: 4, annotations, ...metadata },
    {
      conditions: [
        aCondition({ type: "Suspended", lastTransitionTime: noon }),
        aCondition({ type: "Ready", lastTransitionTime: at(-3_600).toISOString(), ...ready }),
      ],
    },
  );
  return { claim, sandbox: { ...sandbox, spec: { ...sandbox.spec, ...spec } }, now: at(secondsAfter) };
}

const readyOf = (parts: Parts) =>
  conclude({ ...situation(parts), pod: undefined, problem: undefined, expired: false }).conditions?.[0];
const stays = { status: "True", reason: "SandboxResuming" } as const;

describe("a claim whose sandbox wakes", () => {
  it.each<[string, Parts]>([
    ["when it slept", {}],
    ["when it already said so", { before: resuming }],
    ["before the sandbox has noticed", { ready: { reason: "SandboxSuspended" }, secondsAfter: 3_600 }],
    ["when its suspension was cancelled", { ready: { reason: "SandboxSuspended" }, metadata: { annotations: {} } }],
    ["when one field was edited meanwhile", { metadata: { generation: 5 } }],
    ["when the former Pod has ended on its way out", { ready: { reason: "PodFailed" } }],
    ["when it was woken while its Pod was sealed", { before: said({}), sealedBy: "Inactivity" }],
    ["until autoResume.timeoutSeconds are over", { secondsAfter: 119.999 }],
    ["by the clock of a leader that is behind", { secondsAfter: -2 }],
  ])("stays ready %s", (_case, parts) => {
    expect(readyOf(parts)).toMatchObject({ ...stays, lastTransitionTime: noon });
  });

  it.each<[string, Parts]>([
    ["was not ready before", { before: aCondition({ type: "Ready", reason: "SandboxSuspended" }) }],
    ["was ready since it woke, and its Pod is no more", { before: said({ reason: "DependenciesReady" }) }],
    ["slept because a person suspended it", { metadata: { annotations: {} } }],
    ["slept because a person suspended it after a sleep", { metadata: { generation: 6 } }],
    ["has a Pod that a person's suspension takes away", { before: said({}), sealedBy: "Person" }],
    ["is not to be woken by connections", { spec: { autoResume: { trigger: "Never" } } }],
    ["is being deleted", { metadata: { deletionTimestamp: noon } }],
    ["has had its time", { secondsAfter: 120 }],
    ["has had the time that its owner allows", { spec: { autoResume: { timeoutSeconds: 5 } } }],
    ["began in a future that is far away", { secondsAfter: -120 }],
  ])("reports why it is not ready when the sandbox %s", (_case, parts) => {
    expect(readyOf(parts)).toMatchObject({ status: "False", ...starting });
  });

  it.each(["ReconcilerError", "InvalidConfiguration", "MultiplePods"])("reports an obstacle at once: %s", (reason) => {
    expect(readyOf({ ready: { reason } })).toMatchObject({ status: "False", reason });
  });

  it("reports at once that its new Pod has ended", () => {
    const seen = situation({ ready: { reason: "PodFailed" } });
    const pod = aPodOf(seen.sandbox, {}, { phase: "Failed" });
    const { conditions } = conclude({ ...seen, pod, problem: undefined, expired: false });
    expect(conditions?.[0]).toMatchObject({ status: "False", reason: "PodFailed" });
  });

  it("is reconciled again when its time is over", () => {
    expect(resumeOf(situation())).toEqual({ leftMs: 115_000 });
    expect(resumeOf(situation({ ready: { reason: "SandboxSuspended" } }))).toEqual({ leftMs: undefined });
  });

  it("has all of its time though its former Pod took long to end", () => {
    expect(
      resumeOf(situation({ ready: { ...starting, lastTransitionTime: at(60).toISOString() }, secondsAfter: 70 })),
    ).toEqual({ leftMs: 110_000 });
  });
});

/** Has the sandbox of the claim `task` sleep by itself, and waits until its Pod is gone. */
async function sleepByItself(lab: ClaimLab): Promise<string> {
  const { status } = await lab.untilReady("task");
  const name = status?.sandbox?.name ?? "";
  const { generation = 0 } = (await lab.get(sandboxType, name))?.metadata ?? {};
  const annotations = { [suspensionCauseAnnotation]: inactivityAt(generation + 1) };
  await lab.patch(sandboxType, name, { metadata: { annotations }, spec: { operatingMode: "Suspended" } });
  await vi.waitFor(async () => {
    const sandbox = await lab.get(sandboxType, name);
    expect(isConditionTrue(sandbox?.status?.conditions, "Suspended")).toBe(true);
  }, waiting);
  await lab.untilReady("task", { reason: "SandboxSuspended", status: "True" });
  return name;
}

describe("a claim in a cluster, whose sandbox wakes where no Pod starts", () => {
  async function wakeWithoutNode(lab: ClaimLab, timeoutSeconds: number): Promise<void> {
    await lab.template({ autoResume: { timeoutSeconds } });
    await lab.pool(0);
    await lab.claim("task");
    const node = startFakeKubelet(lab.client);
    const name = await sleepByItself(lab).finally(() => node[Symbol.asyncDispose]());
    await lab.patch(sandboxType, name, { spec: { operatingMode: "Running" } });
  }

  it("stays ready until its Pod is", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await using _controller = await lab.startController();
    await wakeWithoutNode(lab, 120);
    const waking = await lab.untilReady("task", stays);
    await using _node = startFakeKubelet(lab.client);
    const awake = await lab.untilReady("task", { status: "True", reason: "DependenciesReady" });
    const since = (claim: typeof waking) => claim.status?.conditions?.[0]?.lastTransitionTime;
    expect(since(awake)).toBe(since(waking));
  });

  it("reports why it is not ready when its time is over, without another event", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await using _controller = await lab.startController();
    await wakeWithoutNode(lab, 1);
    await lab.untilReady("task", { status: "False", reason: "DependenciesNotReady" });
    await using _node = startFakeKubelet(lab.client);
    await lab.untilReady("task", { status: "True", reason: "DependenciesReady" });
  });
});
