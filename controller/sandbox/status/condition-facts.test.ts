import { describe, expect, it } from "vitest";
import type { PodStatus } from "../../../api/kinds/pod.ts";
import { aPodOf, aSandbox, noon, readyStatus } from "../../../test/support/builders/builders.ts";
import type { Failure } from "../actions.ts";
import {
  finishedFact,
  podScheduledFact,
  readyFact,
  type Seen,
  type SeenPod,
  suspendedFact,
} from "./condition-facts.ts";

const running = aSandbox();
const asleep = aSandbox({ operatingMode: "Suspended" });
const owned = (status?: PodStatus, deletionTimestamp?: string): SeenPod => ({
  is: "owned",
  pod: aPodOf(running, deletionTimestamp ? { deletionTimestamp } : {}, status),
});
const seen = (parts: Partial<Seen> = {}): Seen => ({
  sandbox: running,
  pod: { is: "none" },
  service: "unneeded",
  failures: [],
  suspending: false,
  ...parts,
});

const failure = (message: string, retry: Failure["retry"] = "soon"): Failure => ({
  action: { do: "createPod", pod: aPodOf(running) },
  message,
  retry,
});
const failedDelete: Failure = {
  action: { do: "deletePod", pod: aPodOf(asleep), mayBeGone: false },
  message: "no answer",
  retry: "soon",
};
const phase = (is: PodStatus["phase"]): PodStatus => (is ? { phase: is } : {});
const scheduled = (status: "True" | "False", reason?: string, message?: string): PodStatus => ({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status, ...(reason !== undefined && { reason }), ...(message && { message }) }],
});

describe("the Ready condition", () => {
  it.each([
    { id: "no Pod and no Service wanted", given: {}, message: "Pod does not exist" },
    {
      id: "neither Pod nor wanted Service",
      given: { service: "missing" },
      message: "Pod does not exist; Service does not exist",
    },
    { id: "a pending Pod", given: { pod: owned() }, message: "Pod exists with phase: Pending" },
    {
      id: "a running Pod that is not ready",
      given: { pod: owned(phase("Running")) },
      message: "Pod is Running but not Ready",
    },
    {
      id: "a ready Pod without addresses",
      given: { pod: owned({ ...readyStatus, podIPs: [] }) },
      message: "Pod is Ready but has no podIPs yet",
    },
    {
      id: "a Pod of unknown state",
      given: { pod: owned(phase("Unknown")) },
      message: "Pod exists with phase: Unknown",
    },
    {
      id: "a ready Pod that starts to terminate",
      given: { pod: owned(readyStatus, noon) },
      message: "Pod is terminating",
    },
    {
      id: "a ready Pod whose Service is missing",
      given: { pod: owned(readyStatus), service: "missing" },
      message: "Pod is Ready; Service does not exist",
    },
  ] satisfies { id: string; given: Partial<Seen>; message: string }[])("$message", ({ given, message }) => {
    expect(readyFact(seen(given))).toEqual({ type: "Ready", status: "False", reason: "DependenciesNotReady", message });
  });

  it.each([
    { id: "a ready Pod with an address", given: {}, message: "Pod is Ready" },
    { id: "a ready Pod and a Service", given: { service: "exists" }, message: "Pod is Ready; Service Exists" },
  ] satisfies { id: string; given: Partial<Seen>; message: string }[])("$message", ({ given, message }) => {
    const fact = readyFact(seen({ pod: owned(readyStatus), ...given }));
    expect(fact).toEqual({ type: "Ready", status: "True", reason: "DependenciesReady", message });
  });

  it.each([
    { is: "Failed", reason: "PodFailed", message: "Pod failed" },
    { is: "Succeeded", reason: "PodSucceeded", message: "Pod completed successfully" },
  ] as const)("a Pod that is $is makes Ready and Finished say $reason", ({ is, reason, message }) => {
    const given = seen({ pod: owned(phase(is)) });
    expect(readyFact(given)).toEqual({ type: "Ready", status: "False", reason, message });
    expect(finishedFact(given)).toEqual({ type: "Finished", status: "True", reason, message });
  });

  it("any error makes it ReconcilerError, with the error's text", () => {
    const fact = readyFact(seen({ failures: [failure("quota exceeded"), failure("no answer")] }));
    expect(fact).toMatchObject({ reason: "ReconcilerError", message: "Error seen: quota exceeded\nno answer" });
  });

  it("an object that the API server rejects makes it InvalidConfiguration, with the server's text", () => {
    const fact = readyFact(seen({ failures: [failure('Pod "nova" is invalid', "slowly")] }));
    expect(fact).toMatchObject({ status: "False", reason: "InvalidConfiguration", message: 'Pod "nova" is invalid' });
  });

  it("a temporary error beside a permanent one is still ReconcilerError", () => {
    const fact = readyFact(seen({ failures: [failure("invalid", "never"), failure("no answer")] }));
    expect(fact).toMatchObject({ reason: "ReconcilerError" });
  });

  it("several Pods beside another error are reported as MultiplePods alone", () => {
    const fact = readyFact(seen({ pod: { is: "several", count: 2 }, failures: [failure("no answer")] }));
    const message = "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod";
    expect(fact).toEqual({ type: "Ready", status: "False", reason: "MultiplePods", message });
  });
});

describe("the conditions of a suspended Sandbox", () => {
  it.each([
    {
      id: "a Pod on its way",
      given: { pod: owned(readyStatus, noon) },
      says: { status: "False", reason: "PodTerminating", message: "Pod is terminating. Sandbox is suspending" },
      ready: { reason: "SandboxSuspended", message: "Sandbox is suspending" },
    },
    {
      id: "no Pod",
      given: {},
      says: { status: "True", reason: "PodTerminated", message: "Pod has been terminated. Sandbox is suspended" },
      ready: { reason: "SandboxSuspended", message: "Sandbox is suspended" },
    },
    {
      id: "someone else's Pod",
      given: { pod: { is: "someoneElses" } },
      says: {
        status: "False",
        reason: "PodNotOwned",
        message: "Refused to delete pod because it is not owned by this sandbox",
      },
      ready: { reason: "SandboxSuspended", message: "Sandbox is suspending" },
    },
    {
      id: "a Pod that could not be deleted",
      given: { pod: owned(readyStatus), failures: [failedDelete] },
      says: { status: "False", reason: "PodTerminating", message: "Pod is terminating. Sandbox is suspending" },
      ready: { reason: "ReconcilerError", message: "Error seen: no answer" },
    },
    {
      id: "a Pod that could not be read",
      given: { failures: [failure("no answer")] },
      says: {
        status: "Unknown",
        reason: "PodStateUnknown",
        message: "Pod state is unknown. Sandbox suspension cannot be confirmed",
      },
      ready: { reason: "ReconcilerError", message: "Error seen: no answer" },
    },
  ] satisfies { id: string; given: Partial<Seen>; says: object; ready: object }[])("$id", ({ given, says, ready }) => {
    const now = seen({ sandbox: asleep, ...given });
    expect(suspendedFact(now)).toEqual({ type: "Suspended", ...says });
    expect(readyFact(now)).toEqual({ type: "Ready", status: "False", ...ready });
  });

  it("PodScheduled is not known either when the lookup failed", () => {
    expect(podScheduledFact(seen({ sandbox: asleep, failures: [failure("no answer")] }))).toEqual({
      type: "PodScheduled",
      status: "Unknown",
      reason: "PodSchedulingUnknown",
      message: "Pod state is unknown. Pod scheduling cannot be determined",
    });
  });
});

describe("the conditions of a running Sandbox", () => {
  it("a failed lookup leaves Suspended False and makes PodScheduled Unknown", () => {
    const now = seen({ failures: [failure("no answer")] });
    expect(suspendedFact(now)).toMatchObject({ status: "False", reason: "NotSuspended" });
    expect(podScheduledFact(now)).toMatchObject({ status: "Unknown", reason: "PodSchedulingUnknown" });
    expect(readyFact(now)).toMatchObject({ reason: "ReconcilerError" });
  });

  it("a resumed sandbox without a Pod is not suspended, and its message says that there is no Pod", () => {
    expect(suspendedFact(seen())).toEqual({
      type: "Suspended",
      status: "False",
      reason: "NotSuspended",
      message: "Sandbox is not suspended",
    });
    expect(readyFact(seen())).toMatchObject({ message: "Pod does not exist" });
  });

  it("someone else's Pod that has ended does not finish it", () => {
    expect(finishedFact(seen({ pod: { is: "someoneElses" } }))).toBeUndefined();
  });

  it("PodScheduled is Unknown while the Pod has not reported it", () => {
    expect(podScheduledFact(seen({ pod: owned() }))).toEqual({
      type: "PodScheduled",
      status: "Unknown",
      reason: "PodSchedulingUnknown",
      message: "Pod has not reported a PodScheduled condition yet",
    });
  });

  it.each([
    { reported: scheduled("False", "Unschedulable", "0/3 nodes"), status: "False", reason: "Unschedulable" },
    { reported: scheduled("False", "SchedulingGated"), status: "False", reason: "SchedulingGated" },
    { reported: scheduled("True", ""), status: "True", reason: "PodScheduled" },
    { reported: scheduled("False"), status: "False", reason: "PodSchedulingUnknown" },
  ])("PodScheduled passes on $status with $reason", ({ reported, status, reason }) => {
    const message = reported.conditions?.[0]?.message ?? "";
    expect(podScheduledFact(seen({ pod: owned(reported) }))).toEqual({ type: "PodScheduled", status, reason, message });
  });
});
