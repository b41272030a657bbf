import { describe, expect, it, vi } from "vitest";
import { podType, serviceType } from "../../api/kinds/core.ts";
import type { ObjectMeta, Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { adoptableLabel, podNameAnnotation, sandboxNameHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { ApiError, ApiUnreachable } from "../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { controlledBy } from "../../test/support/builders/builders.ts";
import type { RecordedCall } from "../../test/support/fakes/recording-client.ts";
import { openSandboxLab, type SandboxLab } from "../../test/support/labs/sandbox-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const tracking = { [sandboxNameHashLabel]: nameHash("nova") };
const containers = [{ name: "main", image: "busybox" }];
const touches = (kind: string) => (call: RecordedCall) => call.kind === kind;
const isStatusWrite = ({ verb, subresource }: RecordedCall) => verb === "patch" && subresource === "status";

const makePod = (lab: SandboxLab, metadata: ObjectMeta) =>
  lab.client.create(podType, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", ...metadata },
    spec: { containers, nodeName: "node-1" },
  });
const annotate = (lab: SandboxLab, annotations: Record<string, string>) =>
  lab.client.patch(
    sandboxType,
    { namespace: "default", name: "nova" },
    { type: "merge", body: { metadata: { annotations } } },
  );

describe("a Sandbox at rest", () => {
  it("costs no call and keeps its three conditions, for any number of reconciles", async () => {
    await using lab = await openSandboxLab({ flags: ["--disable-sandbox-events"] });
    await lab.create({ service: true });
    await lab.untilCondition("Ready", { status: "True" });
    await lab.untilQuiet();
    lab.client.calls.length = 0;
    for (let pass = 1; pass <= 20; pass += 1) await annotate(lab, { pass: String(pass) });
    // The twenty are the test's own.
    expect(await lab.untilQuiet()).toBe(20);
    const sandbox = await lab.find(sandboxType);
    expect(sandbox?.status?.conditions?.map(({ type }) => type)).toEqual(["Suspended", "PodScheduled", "Ready"]);
  });

  it("writes the status once for a Pod that becomes ready, and the Pod's name once", async () => {
    await using lab = await openSandboxLab({ kubelet: false });
    await lab.create();
    await lab.untilCondition("Ready", { message: "Pod exists with phase: Pending" });
    await lab.untilQuiet();
    const status = { phase: "Running", podIPs: [{ ip: "10.1.0.5" }], conditions: [{ type: "Ready", status: "True" }] };
    lab.client.calls.length = 0;
    const body = { status };
    await lab.client.patch(
      podType,
      { namespace: "default", name: "nova" },
      { type: "merge", body },
      { subresource: "status" },
    );
    await lab.untilCondition("Ready", { status: "True" });
    await lab.untilQuiet();
    const writes = lab.client.calls.filter(touches("Sandbox"));
    expect(writes).toEqual([expect.objectContaining({ verb: "patch", subresource: "status" })]);
  });

  it("writes one status for a Pod that is soon ready, and reports an unready one after half a second", async () => {
    await using lab = await openSandboxLab({ kubelet: false });
    const createdMs = systemClock.ticksMs();
    await lab.create();
    await lab.untilCondition("Ready", { message: "Pod exists with phase: Pending" });
    expect(systemClock.ticksMs() - createdMs).toBeGreaterThan(450);
    const writes = lab.client.calls.filter(touches("Sandbox")).filter(isStatusWrite);
    expect(writes).toHaveLength(1);
  });

  it("has the event of its Pod's creation also if the status of that pass cannot be written", async () => {
    await using lab = await openSandboxLab();
    await lab.create({ operatingMode: "Suspended" });
    await lab.untilCondition("Suspended", { status: "True" });
    const failures = Array.from({ length: 3 }, () => new ApiUnreachable("refused"));
    lab.client.failWith = (call) => (isStatusWrite(call) ? failures.pop() : undefined);
    await lab.change({ operatingMode: "Running" });
    await lab.untilCondition("Ready", { status: "True" });
    await lab.untilQuiet();
    expect((await lab.eventReasons()).toSorted()).toEqual(["SandboxPodCreated", "SandboxReady"]);
  });

  it("is left alone while it is being deleted", async () => {
    await using lab = await openSandboxLab();
    await lab.create({}, { finalizers: ["example.org/keep"] });
    await lab.untilCondition("Ready", { status: "True" });
    await lab.client.delete(sandboxType, { namespace: "default", name: "nova" });
    await lab.untilQuiet();
    lab.client.calls.length = 0;
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilQuiet();
    expect(lab.client.calls.filter(touches("Pod"))).toEqual([]);
  });
});

describe("a child that is there before the stores show it", () => {
  it("is fetched and adopted when it was made for the Sandbox, also where only tracked Pods are watched", async () => {
    await using lab = await openSandboxLab({ flags: ["--cache-label-selectors"] });
    const spare = await makePod(lab, { name: "nova", labels: { [adoptableLabel]: "true" } });
    await lab.create();
    const sandbox = await lab.untilCondition("Ready", { status: "True" });
    const pod = await lab.find(podType);
    expect(pod?.metadata.uid).toBe(spare.metadata.uid);
    expect(pod?.metadata).toMatchObject({ labels: tracking, ownerReferences: [controlledBy(sandbox)] });
    expect(sandbox.metadata.annotations?.[podNameAnnotation]).toBe("nova");
  });

  it("is fetched and refused when it was not", async () => {
    await using lab = await openSandboxLab({ flags: ["--cache-label-selectors"] });
    const stranger = await makePod(lab, { name: "nova" });
    await lab.create();
    await lab.untilCondition("Ready", { reason: "ReconcilerError" });
    expect((await lab.find(podType))?.metadata).toMatchObject({ uid: stranger.metadata.uid });
    expect((await lab.find(podType))?.metadata).not.toHaveProperty("ownerReferences");
  });
});

describe("several Pods of one Sandbox", () => {
  it("are reported in the status and in one event, and the Service is not changed", async () => {
    await using lab = await openSandboxLab();
    const sandbox = await lab.create({ service: true });
    await lab.untilCondition("Ready", { status: "True" });
    const service = await lab.find(serviceType);
    await makePod(lab, { name: "second", labels: tracking, ownerReferences: [controlledBy(sandbox)] });
    const message = "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod";
    await lab.untilCondition("Ready", { reason: "MultiplePods", message });
    await annotate(lab, { pass: "again" });
    await lab.untilQuiet();
    expect(await lab.find(serviceType)).toEqual(service);
    expect(await lab.find(podType, "second")).toBeDefined();
    await vi.waitFor(async () => {
      const events = (await lab.eventReasons()).filter((reason) => reason === "MultiplePods");
      expect(events).toEqual(["MultiplePods"]);
    }, waiting);
    // No error was returned, so nothing is tried again and again.
    expect(await lab.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="sandbox"} 0');
  });

  it("are reported in no event if events are disabled", async () => {
    await using lab = await openSandboxLab({ flags: ["--disable-sandbox-events"] });
    const sandbox = await lab.create();
    await lab.untilCondition("Ready", { status: "True" });
    await makePod(lab, { name: "second", labels: tracking, ownerReferences: [controlledBy(sandbox)] });
    await lab.untilCondition("Ready", { reason: "MultiplePods" });
    await lab.untilQuiet();
    expect(await lab.eventReasons()).toEqual([]);
  });
});

describe("an object that the API server rejects", () => {
  it("is reported as InvalidConfiguration and in an event, and is no failed reconcile", async () => {
    await using lab = await openSandboxLab();
    const wrong = [{ name: "main", image: "busybox", env: [{ name: "a=b", value: "x" }] }];
    await lab.create({ podTemplate: { spec: { containers: wrong } } });
    const sandbox = await lab.untilCondition("Ready", { status: "False", reason: "InvalidConfiguration" });
    expect(findCondition(sandbox.status?.conditions, "Ready")?.message).toContain("spec.containers[0].env[0].name");
    await lab.untilQuiet();
    expect(await lab.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="sandbox"} 0');
    expect(await lab.eventReasons()).toEqual(["SandboxPodCreateFailed"]);
  });
});

describe("a call that fails", () => {
  it("surfaces when it was to record the Pod's name, and is made again", async () => {
    await using lab = await openSandboxLab();
    let failures = 0;
    lab.client.failWith = ({ verb, kind, subresource }) => {
      const recordsName = verb === "patch" && kind === "Sandbox" && subresource === undefined;
      return recordsName && ++failures <= 6 ? new ApiUnreachable("no answer") : undefined;
    };
    await lab.create();
    await lab.untilCondition("Ready", { reason: "ReconcilerError", message: "Error seen: no answer" });
    const sandbox = await lab.untilCondition("Ready", { status: "True" });
    expect(sandbox.metadata.annotations?.[podNameAnnotation]).toBe("nova");
  });

  it("is no error when it was to write the status of a Sandbox that is gone", async () => {
    await using lab = await openSandboxLab();
    const gone = new ApiError(404, { apiVersion: "v1", kind: "Status", reason: "NotFound" });
    lab.client.failWith = (call) => (isStatusWrite(call) || isRead(call) ? gone : undefined);
    const isRead = ({ verb, kind }: RecordedCall) => verb === "get" && kind === "Sandbox";
    await lab.create();
    await vi.waitFor(() => expect(lab.client.calls.some(isRead)).toBe(true), waiting);
    await lab.untilQuiet();
    expect(lab.client.calls.filter(isStatusWrite)).toHaveLength(1);
    expect(await lab.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="sandbox"} 0');
  });
});

describe("an expired Sandbox", () => {
  const past = "2026-01-01T00:00:00Z";

  it("reports it first, then loses its Pod and Service, and keeps its conditions only", async () => {
    await using lab = await openSandboxLab();
    await lab.create({ service: true });
    await lab.untilCondition("Ready", { status: "True" });
    lab.client.calls.length = 0;
    await lab.change({ shutdownTime: past });
    await vi.waitFor(async () => {
      expect(await lab.find(podType)).toBeUndefined();
      expect(await lab.find(serviceType)).toBeUndefined();
      expect(Object.keys((await lab.find(sandboxType))?.status ?? {})).toEqual(["conditions"]);
    }, waiting);
    const order = lab.client.calls.map(({ verb, kind }) => `${verb} ${kind}`).filter((call) => !call.endsWith("Event"));
    expect(order.slice(0, 4)).toEqual(["patch Sandbox", "get Sandbox", "delete Pod", "delete Service"]);
    await vi.waitFor(async () => expect(await lab.eventReasons()).toContain("SandboxExpired"), waiting);
  });

  it("goes itself under the policy Delete", async () => {
    await using lab = await openSandboxLab();
    await lab.create({ shutdownTime: past, shutdownPolicy: "Delete" });
    await vi.waitFor(async () => expect(await lab.find(sandboxType)).toBeUndefined(), waiting);
    expect(await lab.metrics()).toMatch(/agent_sandbox_expired_total\{[^}]*shutdown_policy="Delete"[^}]*\} 1/);
  });

  it("gets its Pod back when the time is taken away", async () => {
    await using lab = await openSandboxLab();
    await lab.create({ shutdownTime: past });
    await lab.untilCondition("Ready", { reason: "SandboxExpired" });
    const body = { spec: { shutdownTime: null } };
    await lab.client.patch(sandboxType, { namespace: "default", name: "nova" }, { type: "merge", body });
    await lab.untilCondition("Ready", { status: "True" });
  });
});

describe("a change of the Pod's metadata", () => {
  const relabel = (lab: SandboxLab, sandbox: Stored<Sandbox>, labels: Record<string, string>) =>
    lab.change({ podTemplate: { ...sandbox.spec.podTemplate, metadata: { labels } } });

  it("waits for its window, and is then written in one patch", async () => {
    const clock = new FakeClock(systemClock.now());
    await using lab = await openSandboxLab({ flags: ["--sandbox-write-behind-window=1s"], clock });
    const patches = () => lab.client.calls.filter(({ verb, kind }) => verb === "patch" && kind === "Pod").length;
    await lab.create();
    // The first status of a sandbox may wait, too.
    const isReady = async () => findCondition((await lab.find(sandboxType))?.status?.conditions, "Ready")?.status;
    await asTimePasses(clock, async () => expect(await isReady()).toBe("True"));
    const sandbox = await lab.untilCondition("Ready", { status: "True" });
    await lab.untilQuiet();
    lab.client.calls.length = 0;
    await relabel(lab, sandbox, { tier: "silver" });
    await relabel(lab, sandbox, { tier: "gold" });
    const ready = await lab.untilCondition("Ready", { status: "True", observedGeneration: 3 });
    await clock.advance(999);
    await lab.untilQuiet();
    expect(patches()).toBe(0);
    expect(ready.status?.podIPs).toEqual(["10.1.0.5"]);
    await asTimePasses(clock, async () =>
      expect((await lab.find(podType))?.metadata.labels).toMatchObject({ tier: "gold" }),
    );
    expect(patches()).toBe(1);
  });

  it("is written by a controller that finds it after a restart", async () => {
    await using lab = await openSandboxLab({ flags: ["--sandbox-write-behind-window=50ms"] });
    const sandbox = await lab.create({ podTemplate: { metadata: { labels: { tier: "gold" } }, spec: { containers } } });
    await lab.untilCondition("Ready", { status: "True" });
    const body = { metadata: { labels: { tier: null } } };
    await lab.client.patch(podType, { namespace: "default", name: sandbox.metadata.name }, { type: "merge", body });
    await vi.waitFor(
      async () => expect((await lab.find(podType))?.metadata.labels).toMatchObject({ tier: "gold" }),
      waiting,
    );
  });
});

describe("the metrics of a Sandbox", () => {
  it("count it by its mode, and suspensions and resumptions by outcome", async () => {
    await using lab = await openSandboxLab();
    await lab.create();
    await lab.untilCondition("Ready", { status: "True" });
    expect(await lab.metrics()).toMatch(/agent_sandboxes\{[^}]*operating_mode="Running"\} 1/);
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilCondition("Suspended", { status: "True" });
    await lab.change({ operatingMode: "Running" });
    await lab.untilCondition("Ready", { status: "True" });
    const common = 'namespace="default",sandbox_template="unknown",owned_by="None"';
    await vi.waitFor(async () => {
      const metrics = await lab.metrics();
      expect(metrics).toContain(`agent_sandbox_suspend_total{${common},result="requested"} 1`);
      expect(metrics).toContain(`agent_sandbox_suspend_total{${common},result="pod_terminated"} 1`);
      expect(metrics).toContain(`agent_sandbox_resume_total{${common},result="requested"} 1`);
      expect(metrics).toContain(`agent_sandbox_resume_total{${common},result="ready"} 1`);
      expect(metrics).toContain(`agent_sandbox_suspend_latency_ms_count{${common}} 1`);
      expect(metrics).toContain(`agent_sandbox_resume_latency_ms_count{${common}} 1`);
      for (const change of ["suspend", "resume"]) {
        expect(metrics).toMatch(new RegExp(`agent_sandbox_${change}_latency_ms_sum{${common}} [0-9]`));
      }
      expect(metrics).toMatch(/agent_sandbox_creation_latency_ms_count\{[^}]*sandbox_template="__unknown__"[^}]*\} 1/);
    }, waiting);
  });
});
