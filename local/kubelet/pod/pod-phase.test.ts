import { describe, expect, it } from "vitest";
import type { Container, ContainerState, ContainerStatus, Pod, PodSpec } from "../../../api/kinds/core.ts";
import { makePodStatus, type PodView } from "./pod-phase.ts";

const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
const running: ContainerState = { running: {} };
const waiting: ContainerState = { waiting: { reason: "ContainerCreating" } };

function aStatus(name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, state, ready: false, started: false, restartCount: 0, image: "", imageID: "", ...more };
}

function aView(
  view: Partial<PodView> & { readonly spec?: Partial<PodSpec>; readonly status?: Pod["status"] },
): PodView {
  const { spec, status, ...rest } = view;
  const pod: Pod = { metadata: { name: "nova" }, spec: { containers: [], ...spec }, ...(status && { status }) };
  return {
    pod,
    podIp: "127.64.0.1",
    hostIp: "127.0.0.1",
    startTime: "2026-01-01T00:00:00Z",
    initContainers: [],
    containers: [],
    failure: undefined,
    terminated: false,
    previous: undefined,
    now: new Date("2026-01-01T12:00:00Z"),
    ...rest,
  };
}

const condition = (view: PodView, type: string) => makePodStatus(view).conditions?.find((one) => one.type === type);

describe("the phase of a Pod", () => {
  it.each([
    { states: [waiting], policy: "Always", phase: "Pending" },
    { states: [running, waiting], policy: "Always", phase: "Pending" },
    { states: [running, ended(0)], policy: "Never", phase: "Running" },
    { states: [ended(0), ended(0)], policy: "Always", phase: "Running" },
    { states: [ended(0), ended(0)], policy: "Never", phase: "Succeeded" },
    { states: [ended(0), ended(1)], policy: "Never", phase: "Failed" },
    { states: [ended(0), ended(1)], policy: "OnFailure", phase: "Running" },
  ])("with $policy and $states is $phase", ({ states, policy, phase }) => {
    const containers = states.map((state, index) => aStatus(`c${index}`, state));
    expect(makePodStatus(aView({ containers, spec: { restartPolicy: policy } })).phase).toBe(phase);
  });

  it("is Running while a container that ran waits to be restarted", () => {
    const containers = [aStatus("main", { waiting: { reason: "CrashLoopBackOff" } }, { lastState: ended(1) })];
    expect(makePodStatus(aView({ containers })).phase).toBe("Running");
  });

  it.each([
    { code: 0, phase: "Succeeded" },
    { code: 143, phase: "Failed" },
  ])("after a deletion, with exit code $code, is $phase for every policy", ({ code, phase }) => {
    expect(makePodStatus(aView({ containers: [aStatus("main", ended(code))], terminated: true })).phase).toBe(phase);
  });

  it("after a deletion is Failed when a container never ran", () => {
    expect(makePodStatus(aView({ containers: [aStatus("main", waiting)], terminated: true })).phase).toBe("Failed");
  });

  it("is Running for as long as a sidecar runs", () => {
    const sidecar: Container = { name: "sidecar", restartPolicy: "Always" };
    const spec = { restartPolicy: "Never", initContainers: [sidecar] };
    const containers = [aStatus("main", ended(0))];
    const initContainers = [aStatus("sidecar", running, { started: true })];
    expect(makePodStatus(aView({ spec, containers, initContainers })).phase).toBe("Running");
  });

  it("is Failed when the Pod as a whole has failed, with the reason", () => {
    const failure = { reason: "DeadlineExceeded", message: "too long" };
    const view = aView({ containers: [aStatus("main", ended(0))], failure });
    expect(makePodStatus(view)).toMatchObject({ phase: "Failed", ...failure });
  });
});

describe("the conditions of a Pod", () => {
  it("name the containers that are not ready", () => {
    const containers = [aStatus("a", running), aStatus("b", running, { ready: true }), aStatus("c", waiting)];
    expect(condition(aView({ containers }), "ContainersReady")).toMatchObject({
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [a c]",
    });
  });

  it("name the init containers that still stand before the others", () => {
    const initContainers = [aStatus("a", ended(0)), aStatus("b", running), aStatus("c", waiting)];
    expect(condition(aView({ initContainers, containers: [aStatus("main", waiting)] }), "Initialized")).toMatchObject({
      status: "False",
      reason: "ContainersNotInitialized",
      message: "containers with incomplete status: [b c]",
    });
  });

  it.each([
    { code: 0, reason: "PodCompleted" },
    { code: 1, reason: "PodFailed" },
  ])("say $reason once it has ended with exit code $code", ({ code, reason }) => {
    const view = aView({ containers: [aStatus("main", ended(code))], spec: { restartPolicy: "Never" } });
    expect(condition(view, "Ready")).toMatchObject({ status: "False", reason });
  });

  it("wait for a readiness gate that is not True", () => {
    const gate = "example.com/go";
    const containers = [aStatus("main", running, { ready: true })];
    const status = { conditions: [{ type: gate, status: "False" as const }] };
    const view = aView({ containers, status, spec: { readinessGates: [{ conditionType: gate }] } });
    expect(condition(view, "ContainersReady")?.status).toBe("True");
    expect(condition(view, "Ready")).toMatchObject({
      reason: "ReadinessGatesNotReady",
      message: 'the status of pod readiness gate "example.com/go" is not "True", but False',
    });
  });

  it("keep their time for as long as their status stays", () => {
    const containers = [aStatus("main", running, { ready: true })];
    const first = makePodStatus(aView({ containers }));
    const now = new Date("2026-01-01T13:00:00Z");
    const unready = makePodStatus(aView({ containers: [aStatus("main", running)], previous: first, now }));
    const times = unready.conditions?.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]);
    expect(Object.fromEntries(times ?? [])).toMatchObject({
      Initialized: "2026-01-01T12:00:00Z",
      Ready: "2026-01-01T13:00:00Z",
    });
  });
});
