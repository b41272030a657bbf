import { describe, expect, it } from "vitest";
import type { Condition } from "../../../api/kinds/meta.ts";
import type { PodStatus } from "../../../api/kinds/pod.ts";
import type { Sandbox, SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { memoryImageAnnotation } from "../../../api/rules/keys.ts";
import {
  aPodOf,
  aSandbox,
  aServiceOf,
  noon,
  readyStatus,
  someoneElse,
} from "../../../test/support/builders/builders.ts";
import { anObservation } from "../../../test/support/builders/observed.ts";
import type { Failure } from "../actions.ts";
import type { Observed } from "../observed.ts";
import { conclude, type Ended } from "./conclude.ts";

const later = new Date("2026-01-01T13:00:00Z");
const end = (seen: Partial<Observed>, parts: Partial<Ended> = {}) =>
  conclude({
    course: "children",
    observed: anObservation(seen),
    failures: [],
    clusterDomain: "cluster.local",
    ...parts,
  });
const failedService: Failure = {
  action: { do: "refuse", part: "service", why: "taken", untilChanged: false },
  message: "taken",
  retry: "soon",
};
const withStatus = (sandbox: ReturnType<typeof aSandbox>, status: SandboxStatus) => ({ ...sandbox, status });
const types = (status: SandboxStatus) => status.conditions?.map(({ type }) => type);
const condition = (status: SandboxStatus, type: string): Partial<Condition> =>
  findCondition(status.conditions, type) ?? {};

/** A sandbox as it stands after a pass that found a ready Pod. */
function aReadySandbox(spec: Partial<Sandbox["spec"]> = {}) {
  const sandbox = aSandbox(spec);
  return withStatus(sandbox, end({ sandbox, pods: [aPodOf(sandbox, {}, readyStatus)] }).status);
}

describe("the status of a Sandbox", () => {
  it("loses PodScheduled when its Pod disappears", () => {
    expect(types(end({ sandbox: aReadySandbox() }).status)).toEqual(["Suspended", "Ready"]);
  });

  it("has exactly three conditions while it is Ready, and does not change by a reconcile", () => {
    const sandbox = aReadySandbox();
    const { status } = end({ sandbox, pods: [aPodOf(sandbox, {}, readyStatus)], now: later });
    expect(types(status)).toEqual(["Suspended", "PodScheduled", "Ready"]);
    expect(status).toEqual(sandbox.status);
  });

  it("keeps the time of a condition whose status does not change", () => {
    const sandbox = aReadySandbox();
    const { status } = end({ sandbox, pods: [aPodOf(sandbox, {}, { phase: "Pending" })], now: later });
    expect(condition(status, "Suspended").lastTransitionTime).toBe(noon);
    expect(condition(status, "Ready").lastTransitionTime).toBe("2026-01-01T13:00:00Z");
  });

  it("follows the generation in every condition", () => {
    const before = aReadySandbox();
    const sandbox = { ...before, metadata: { ...before.metadata, generation: 7 } };
    const { status } = end({ sandbox, pods: [aPodOf(sandbox, {}, readyStatus)] });
    expect(status.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([7, 7, 7]);
  });

  it("shows no field of another owner's Pod while suspended, but its selector", () => {
    const sandbox = aSandbox({ operatingMode: "Suspended" });
    const { status } = end({ sandbox, pods: [aPodOf(sandbox, { ownerReferences: [someoneElse] }, readyStatus)] });
    expect(status).not.toHaveProperty("podIPs");
    expect(status).not.toHaveProperty("nodeName");
    expect(status.selector).toMatch(/^agents\.x-k8s\.io\/sandbox-name-hash=[0-9a-f]{8}$/);
  });

  it("has the selector from the first Pod on, and keeps it while suspended", () => {
    expect(end({}).status).not.toHaveProperty("selector");
    const sandbox = { ...aReadySandbox(), spec: aSandbox({ operatingMode: "Suspended" }).spec };
    expect(end({ sandbox }).status.selector).toBe(sandbox.status.selector);
  });

  it("takes node, addresses and Ready from the Pod in one go", () => {
    const sandbox = aSandbox();
    const pod = { ...aPodOf(sandbox, {}, readyStatus), spec: { containers: [], nodeName: "node-1" } };
    const { status } = end({ sandbox, pods: [pod] });
    expect(status).toMatchObject({ nodeName: "node-1", podIPs: ["10.1.0.5"] });
    expect(condition(status, "Ready")).toMatchObject({ status: "True" });
  });

  it("needs an owned Service that exists although it was not requested", () => {
    const sandbox = aSandbox();
    const seen = { sandbox, pods: [aPodOf(sandbox, {}, readyStatus)], service: aServiceOf(sandbox) };
    expect(condition(end(seen).status, "Ready").message).toBe("Pod is Ready; Service Exists");
  });

  it("names the Service in the cluster's domain", () => {
    const sandbox = aSandbox({ service: true });
    const { status } = end({ sandbox, service: aServiceOf(sandbox) }, { clusterDomain: "example.org" });
    expect(status).toMatchObject({ service: "nova", serviceFQDN: "nova.lab.svc.example.org" });
  });

  it("keeps the fields of the Service when the Service failed", () => {
    const sandbox = withStatus(aSandbox({ service: true }), { service: "nova", serviceFQDN: "nova.lab.svc.old" });
    expect(end({ sandbox }, { failures: [failedService] }).status).toMatchObject(sandbox.status);
    expect(end({ sandbox: aSandbox({ service: true }) }, { failures: [failedService] }).status).not.toHaveProperty(
      "service",
    );
  });

  it.each([
    { service: undefined, owners: [] },
    { service: false, owners: undefined },
    { service: false, owners: [] },
  ])("has no field of a Service that it does not use", ({ service, owners }) => {
    const sandbox = withStatus(aSandbox(service === undefined ? {} : { service }), { service: "nova" });
    const found = aServiceOf(sandbox, owners ? { ownerReferences: owners } : {});
    expect(end({ sandbox, service: found }).status).not.toHaveProperty("service");
  });

  it("does not change for an edited template", () => {
    const sandbox = aReadySandbox();
    const edited = aSandbox({ podTemplate: { spec: { containers: [{ name: "main", image: "other" }] } } });
    const pods = [aPodOf(sandbox, {}, readyStatus)];
    expect(end({ sandbox: { ...sandbox, spec: edited.spec }, pods }).status).toEqual(sandbox.status);
  });
});

describe("the status of an expired Sandbox", () => {
  const shutdownTime = noon;

  it("first reports only the expiry: PodScheduled is removed, everything else stays", () => {
    const before = aReadySandbox({ shutdownTime: "2026-01-01T23:00:00Z" });
    const sandbox = { ...before, spec: { ...before.spec, shutdownTime } };
    const { status, recheckAfterMs } = end({ sandbox }, { course: "markExpired" });
    expect(types(status)).toEqual(["Suspended", "Ready"]);
    expect(condition(status, "Ready")).toMatchObject({ status: "False", reason: "SandboxExpired" });
    expect(status.podIPs).toEqual(["10.1.0.5"]);
    expect(recheckAfterMs).toBe(1);
  });

  it("reports it in a reconcile during which it expires", () => {
    const sandbox = aSandbox({ shutdownTime });
    const { status, recheckAfterMs } = end({ sandbox, pods: [aPodOf(sandbox)] });
    expect(condition(status, "Ready")).toMatchObject({ reason: "SandboxExpired", message: "Sandbox has expired" });
    expect(types(status)).not.toContain("PodScheduled");
    expect(recheckAfterMs).toBe(1);
  });

  it("keeps only its conditions once the children have been deleted", () => {
    const sandbox = aReadySandbox({ shutdownTime });
    const { status, recheckAfterMs } = end({ sandbox }, { course: "tearDown" });
    expect(Object.keys(status)).toEqual(["conditions"]);
    expect(condition(status, "Ready")).toMatchObject({ reason: "SandboxExpired" });
    expect(recheckAfterMs).toBeUndefined();
  });

  it("stays as it is when a child could not be deleted, but for the error in its message", () => {
    const before = aReadySandbox({ shutdownTime: "2026-01-01T23:00:00Z" });
    const marked = end({ sandbox: { ...before, spec: { ...before.spec, shutdownTime } } }, { course: "markExpired" });
    const sandbox = withStatus(aSandbox({ shutdownTime }), marked.status);
    const { status } = end({ sandbox }, { course: "tearDown", failures: [failedService] });
    const message = "Sandbox has expired, and its cleanup failed: taken";
    const ready = { ...condition(marked.status, "Ready"), message };
    expect(status).toEqual({ ...marked.status, conditions: [condition(marked.status, "Suspended"), ready] });
    expect(status.podIPs).toEqual(["10.1.0.5"]);
  });

  it("stays as it is when a child could not be deleted and the Sandbox itself is going", () => {
    const going = { deletionTimestamp: noon };
    const sandbox = aSandbox({ shutdownTime }, going, aReadySandbox({ shutdownTime }).status);
    expect(end({ sandbox }, { course: "tearDown", failures: [failedService] }).status).toEqual(sandbox.status);
  });

  it.each(["markExpired", "tearDown"] as const)("drops what blocked a suspension or a port (%s)", (course) => {
    const sandbox = aSandbox({ shutdownTime });
    const type = "ServicePortsAllocated";
    const portShortage = { type, status: "False", reason: "PortsExhausted", message: "full" } as const;
    const blockedSuspension = { is: "yes", reason: "ActivatorUnreachable", message: "silent" } as const;
    const before = end({ sandbox, now: new Date(0) }, { blockedSuspension, portShortage }).status;
    expect(types(before)).toEqual(expect.arrayContaining(["AutoSuspensionBlocked", "ServicePortsAllocated"]));
    const { status } = end({ sandbox: withStatus(sandbox, before) }, { course });
    expect(types(status)).toEqual(["Suspended", "Ready"]);
  });

  it.each(["markExpired", "tearDown"] as const)("keeps Finished (%s)", (course) => {
    const sandbox = aSandbox({ shutdownTime });
    const finished = end({ sandbox, pods: [aPodOf(sandbox, {}, { phase: "Failed" })] }).status;
    const { status } = end({ sandbox: withStatus(sandbox, finished) }, { course });
    expect(condition(status, "Finished")).toEqual(condition(finished, "Finished"));
  });

  it("is as before once the time is moved into the future", () => {
    const marked = end({ sandbox: aSandbox({ shutdownTime }) }, { course: "markExpired" }).status;
    const sandbox = withStatus(aSandbox({ shutdownTime: "2026-01-01T12:00:10Z" }), marked);
    const { status, recheckAfterMs } = end({ sandbox, pods: [aPodOf(sandbox, {}, readyStatus)] });
    expect(condition(status, "Ready")).toMatchObject({ status: "True" });
    expect(recheckAfterMs).toBe(10_000);
  });
});

it("a Pod that waits for its memory is looked at again when the wait is over", () => {
  const annotations = { [memoryImageAnnotation]: "pod-pod-1" };
  const state = { waiting: { reason: "ErrImagePull" } };
  const containerStatuses = [{ name: "main", ready: false, restartCount: 0, image: "", imageID: "", state }];
  const recheckMs = (waitedMs: number, status: PodStatus, sandbox = aSandbox()) => {
    const pod = { ...aPodOf(sandbox, { annotations }, status), spec: { containers: [], nodeName: "node-1" } };
    return end({ sandbox, pods: [pod], memory: { images: [], waitedMs } }).recheckAfterMs;
  };
  const lacking = { phase: "Pending", containerStatuses } as const;
  expect([0, 39_000, 41_000].map((waitedMs) => recheckMs(waitedMs, lacking))).toEqual([40_000, 1_000, 1]);
  expect(recheckMs(41_000, { phase: "Pending" })).toBe(859_000);
  expect(recheckMs(41_000, { phase: "Running" })).toBeUndefined();
  expect(recheckMs(41_000, lacking, aSandbox({ operatingMode: "Suspended" }))).toBeUndefined();
});
