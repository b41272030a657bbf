import { describe, expect, it } from "vitest";
import type { Condition, Stored } from "../../../api/kinds/meta.ts";
import type { PodStatus } from "../../../api/kinds/pod.ts";
import type { Sandbox, SandboxSpec } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import { suspensionCauseAnnotation } from "../../../api/rules/keys.ts";
import { inactivityAt } from "../../../api/rules/suspension.ts";
import { aPodOf, noon } from "../../../test/support/builders/builders.ts";
import { aClaimed, aCondition, aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { ClaimProblem, problemOf } from "../claim-problem.ts";
import { conclude, markedExpired, statusPatch } from "./conclude.ts";
import type { Seen } from "./ready-fact.ts";

const earlier = "2026-01-01T11:00:00Z";
const claim = aSandboxClaim({}, { generation: 4 });
const ready = aCondition({
  type: "Ready",
  status: "True",
  reason: "DependenciesReady",
  message: "Pod is Ready",
  observedGeneration: 9,
});
const finished = aCondition({ type: "Finished", status: "True", reason: "PodSucceeded", lastTransitionTime: earlier });
const boundStatus = { sandbox: { name: "warm-1", podIPs: ["10.1.0.5"] } };

const ended = (parts: Partial<Seen> = {}): Seen => ({
  claim,
  now: new Date(noon),
  sandbox: undefined,
  pod: undefined,
  problem: undefined,
  expired: false,
  ...parts,
});
const saying = (conditions: readonly Condition[], podIPs: readonly string[] = []) =>
  aClaimed(claim, {}, { conditions, podIPs });
const readyIn = (parts: Partial<Seen>) => conclude(ended(parts)).conditions?.find(({ type }) => type === "Ready");
const finishedIn = (parts: Partial<Seen>) => conclude(ended(parts)).conditions?.find(({ type }) => type === "Finished");

describe("the status of a claim", () => {
  it("has its sandbox's conditions, for the generation of the claim, and its addresses", () => {
    expect(conclude(ended({ sandbox: saying([ready], ["10.1.0.5", "fd00::5"]) }))).toEqual({
      conditions: [{ ...ready, lastTransitionTime: noon, observedGeneration: 4 }],
      sandbox: { name: "task", podIPs: ["10.1.0.5", "fd00::5"] },
    });
  });

  it("keeps the time of a Ready that stays as it was", () => {
    const before = aSandboxClaim({}, {}, { conditions: [{ ...ready, lastTransitionTime: earlier }] });
    expect(readyIn({ claim: before, sandbox: saying([ready]) })?.lastTransitionTime).toBe(earlier);
  });

  it("has its conditions in the order of their types", () => {
    const sandbox = saying([ready, finished]);
    const pod = aPodOf(sandbox, {}, { phase: "Succeeded" });
    expect(conclude(ended({ sandbox, pod })).conditions?.map(({ type }) => type)).toEqual(["Finished", "Ready"]);
  });

  it.each<[string, Partial<Seen>, string, string]>([
    ["no sandbox", {}, "SandboxMissing", "Sandbox does not exist"],
    ["a sandbox that says nothing", { sandbox: saying([]) }, "SandboxNotReady", "Sandbox is not ready"],
    [
      "a sandbox that has expired",
      { sandbox: saying([aCondition({ type: "Ready", reason: "SandboxExpired" })]) },
      "SandboxExpired",
      "Underlying Sandbox resource has expired independently of the Claim.",
    ],
    ["an expired claim", { expired: true }, "ClaimExpired", "Claim expired. Sandbox cleanup initiated."],
    [
      "a problem before anything else",
      { expired: true, problem: new ClaimProblem("ClaimExpired", "not ours") },
      "ClaimExpired",
      "not ours",
    ],
    ["any error", { problem: problemOf(new Error("boom")) }, "ReconcilerError", "Error seen: boom"],
    [
      "what a person must change",
      { sandbox: saying([aCondition({ type: "Ready", reason: "InvalidConfiguration", message: "too long" })]) },
      "InvalidConfiguration",
      "too long",
    ],
  ])("with %s is not ready, with the reason", (_case, parts, reason, message) => {
    expect(readyIn(parts)).toMatchObject({ status: "False", reason, message });
  });
});

describe("the sandbox in the status of a claim", () => {
  const before = aSandboxClaim({}, {}, boundStatus);

  it("is absent when there is none", () => {
    expect(conclude(ended({ claim: before }))).not.toHaveProperty("sandbox");
  });

  it("is the same as before when an error hides it", () => {
    const status = conclude(ended({ claim: before, problem: problemOf(new Error("boom")) }));
    expect(status.sandbox).toEqual(boundStatus.sandbox);
  });

  it("is absent when another owner controlled the sandbox at the end", () => {
    const problem = new ClaimProblem("ClaimExpired", "not ours");
    expect(conclude(ended({ claim: before, problem }))).not.toHaveProperty("sandbox");
  });

  const pending = new ClaimProblem("SandboxCreatePending", "it exists");

  it("stays, with all of the status, while our own creation does not show and a name is recorded", () => {
    expect(conclude(ended({ claim: before, problem: pending }))).toBe(before.status);
  });

  it("is not known while our own creation does not show and no name is recorded", () => {
    expect(readyIn({ problem: pending })).toMatchObject({ reason: "SandboxCreatePending" });
  });
});

describe("the end of a Pod", () => {
  const lifecycle = { ttlSecondsAfterFinished: 0 };
  const failedReady = aCondition({ type: "Ready", reason: "PodFailed", message: "Pod failed" });
  const failed = aCondition({ type: "Finished", status: "True", reason: "PodFailed", lastTransitionTime: earlier });
  const sandbox = saying([failed, failedReady]);
  const podThat = (status: PodStatus, metadata = {}) => aPodOf(sandbox, metadata, status);
  const endedPod = podThat({ phase: "Failed" });

  it("is copied literally, with its time", () => {
    expect(finishedIn({ sandbox, pod: endedPod })).toEqual(failed);
    expect(readyIn({ sandbox, pod: endedPod })).toMatchObject({ reason: "PodFailed", message: "Pod failed" });
  });

  it("is removed when the sandbox does not have it any more", () => {
    const before = aSandboxClaim({}, {}, { conditions: [failed] });
    expect(finishedIn({ claim: before, sandbox: saying([ready]) })).toBeUndefined();
    expect(finishedIn({ claim: before })).toBeUndefined();
  });

  it.each([
    ["is on its way out", podThat({ phase: "Failed" }, { deletionTimestamp: noon })],
    ["is gone", undefined],
    ["has a successor that starts", podThat({ phase: "Pending" })],
  ])("is not reported for a Pod that %s, because a new Pod follows", (_case, pod) => {
    expect(readyIn({ sandbox, pod })).toMatchObject({ reason: "SandboxNotReady" });
    expect(finishedIn({ sandbox, pod })).toBeUndefined();
    const shortLived = aSandboxClaim({ lifecycle });
    expect(readyIn({ claim: shortLived, sandbox, pod })).toMatchObject({ reason: "SandboxNotReady" });
  });

  it("is reported for an expired sandbox, whose Pod is gone for good", () => {
    const over = saying([failed, aCondition({ type: "Ready", reason: "SandboxExpired" })]);
    expect(finishedIn({ sandbox: over })).toEqual(failed);
  });

  it("stays reported when the claim has expired, during and after the deletion of its sandbox", () => {
    const before = aSandboxClaim({}, {}, { conditions: [failed] });
    expect(finishedIn({ claim: before, sandbox, expired: true })).toEqual(failed);
    expect(finishedIn({ claim: before, expired: true })).toEqual(failed);
  });

  it("is reported together with the expiry of the claim", () => {
    const status = conclude(ended({ claim: aSandboxClaim({ lifecycle }), sandbox, pod: endedPod }));
    expect(status.conditions).toEqual([failed, expect.objectContaining({ type: "Ready", reason: "ClaimExpired" })]);
    expect(status.sandbox).toEqual({ name: "task" });
  });
});

describe("a claim whose sandbox is suspended", () => {
  const suspended = aCondition({ type: "Ready", reason: "SandboxSuspended", message: "Sandbox is suspended" });
  const asleep = (spec: Partial<SandboxSpec> = {}, cause = inactivityAt(3)): Stored<Sandbox> => {
    const sandbox = aClaimed(claim, { generation: 3, annotations: { [suspensionCauseAnnotation]: cause } });
    return {
      ...sandbox,
      spec: { ...sandbox.spec, operatingMode: "Suspended", ...spec },
      status: { conditions: [suspended] },
    };
  };

  it("by itself stays ready, and has no address", () => {
    const status = conclude(ended({ sandbox: asleep() }));
    expect(status.sandbox).toEqual({ name: "task" });
    expect(readyIn({ sandbox: asleep() })).toMatchObject({
      status: "True",
      reason: "SandboxSuspended",
      message: "Sandbox is suspended for inactivity; a connection wakes it",
    });
  });

  it.each([
    ["because a person suspended it", asleep({}, "")],
    ["because a person suspended it again", asleep({}, inactivityAt(1))],
    ["and no connection may wake it", asleep({ autoResume: { trigger: "Never" } })],
    ["no more", asleep({ operatingMode: "Running" })],
  ])("%s is as ready as that", (_case, sandbox) => {
    expect(readyIn({ sandbox })).toMatchObject({ status: "False", reason: "SandboxSuspended" });
  });
});

describe("an expired claim whose cleanup failed", () => {
  const lifecycle = { ttlSecondsAfterFinished: 0 };
  const marked = aCondition({ type: "Ready", reason: "ClaimExpired", message: "Claim expired." });
  const before = aSandboxClaim({ lifecycle }, {}, { conditions: [finished, marked], ...boundStatus });
  const problem = problemOf(new Error("boom"));

  it("stays as it was, expired, with the error, and with the end of the Pod from which its time counts", () => {
    const status = conclude(ended({ claim: before, problem }));
    expect(status.sandbox).toEqual(boundStatus.sandbox);
    expect(status.conditions).toEqual([
      finished,
      expect.objectContaining({
        ...{ type: "Ready", status: "False", reason: "ClaimExpired" },
        message: "Claim expired. Sandbox cleanup failed. Error seen: boom",
      }),
    ]);
  });

  it("has the error as its reason once it has been given more time", () => {
    const later = { ...before, spec: { ...before.spec, lifecycle: { ttlSecondsAfterFinished: 7_200 } } };
    expect(readyIn({ claim: later, problem })).toMatchObject({ reason: "ReconcilerError" });
  });
});

describe("the patch of a status", () => {
  const before = aSandboxClaim({}, { resourceVersion: "7" }, { conditions: [ready], ...boundStatus });

  it("is absent when nothing has changed", () => {
    expect(statusPatch(before, { conditions: [ready], ...boundStatus })).toBeUndefined();
  });

  it("has the changes, with the version that was read", () => {
    expect(statusPatch(before, { conditions: [ready], sandbox: { name: "warm-1" } })).toEqual({
      metadata: { resourceVersion: "7" },
      status: { sandbox: { name: "warm-1", podIPs: null } },
    });
    expect(statusPatch(before, { conditions: [] })).toMatchObject({ status: { conditions: [], sandbox: null } });
  });

  it("is the mark alone when the time is over", () => {
    const status = markedExpired({ claim: before as Stored<SandboxClaim>, now: new Date(noon) });
    expect(status).toMatchObject({ ...boundStatus, conditions: [{ type: "Ready", reason: "ClaimExpired" }] });
  });
});
