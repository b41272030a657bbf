import { describe, expect, it } from "vitest";
import type { Container, Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox, SandboxSpec } from "../../api/kinds/sandbox.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import { formatSeal, inactivityAt } from "../../api/rules/suspension.ts";
import { type Question, resolveSandbox } from "./resolve.ts";

const now = new Date("2026-01-01T12:00:00Z");
const stored = { resourceVersion: "7", creationTimestamp: "2026-01-01T11:59:00Z" };
const main: Container = { name: "main", image: "program" };

interface Given {
  readonly spec?: Partial<SandboxSpec>;
  readonly meta?: Partial<Sandbox["metadata"]>;
  readonly conditions?: Record<
    string,
    readonly [status: "True" | "False", reason: string, generation: number, message?: string]
  >;
  readonly pod?: Partial<Pod> & { readonly meta?: Partial<Pod["metadata"]> };
  readonly question?: Partial<Question>;
}

function resolutionOf({ spec = {}, meta = {}, conditions = {}, pod, question = {} }: Given) {
  const sandbox: Stored<Sandbox> = {
    metadata: { name: "nova", namespace: "lab", uid: "u1", generation: 3, ...stored, ...meta },
    spec: { podTemplate: { spec: { containers: [main] } }, operatingMode: "Running", ...spec },
    status: {
      conditions: Object.entries(conditions).map(
        ([type, [status, reason, observedGeneration, message = "as said"]]) => ({
          ...{ type, status, reason, observedGeneration, message, lastTransitionTime: now.toISOString() },
        }),
      ),
    },
  };
  const itsPod: Stored<Pod> | undefined = pod && {
    spec: { containers: [main] },
    ...pod,
    metadata: { name: "nova", uid: "p1", ...stored, ...pod.meta },
  };
  return resolveSandbox({
    routed: { namespace: "lab", name: "nova", port: 8888, podIp: undefined, byHost: false },
    ...{ sandbox, pod: itsPod, firstUid: undefined, now, unschedulableGraceMs: undefined, allowLoopbackPodIp: false },
    ...{ nowMs: 0, sightings: { sightsOf: () => undefined } },
    ...{ validForMs: 120_000, ignored: false, fences: { reportedGeneration: 0, fenced: new Set<string>() } },
    ...question,
  });
}

function seen(given: Given) {
  const found = resolutionOf(given);
  if (found.is === "refused") return found.error.code;
  if (found.is === "pending") return `pending on ${found.on}`;
  if (found.is === "addressed") return `${found.target.ip}:${found.target.port}`;
  return found.is;
}

const seal = formatSeal({ podName: "nova", podUid: "p1", cause: "Person", at: "2026-01-01T12:00:00Z" });
const suspended = { operatingMode: "Suspended" } as const;
const running = { phase: "Running", podIP: "10.0.0.5", podIPs: [{ ip: "10.0.0.5" }, { ip: "fd00::5" }] } as const;

/** Half a second before noon, as API servers and the controller read it; JavaScript's own parser does not. */
const overByComma = "2026-01-01t13:59:59,5+02:00";

/** In milliseconds: how soon time alone may change a resolution. */
describe("the time until a resolution may change by itself", () => {
  const sightings = { sightsOf: () => ({ seenMs: 0, addressedMs: 1_000, unschedulableMs: 1_000 }) };
  const question = { sightings, nowMs: 2_000, unschedulableGraceMs: 5_000 };
  const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }] as const;

  it.each<[string, Given, number]>([
    ["is the end of a silent view", { question: { validForMs: 70_000 } }, 70_000],
    ["is at least a millisecond", { question: { validForMs: 0 } }, 1],
    ["is the end of the sandbox", { spec: { shutdownTime: "2026-01-01T12:00:09Z" } }, 9_000],
    ["is the end of the Pod's youth", { pod: { status: running } }, 119_000],
    [
      "is the end of the youth by the sandbox's timeout",
      { pod: { status: running }, spec: { autoResume: { timeoutSeconds: 3 } } },
      2_000,
    ],
    ["ignores a youth that is over", { pod: { status: running }, question: { nowMs: 122_000 } }, 120_000],
    ["is the end of the grace without a node", { pod: { status: { phase: "Pending", conditions } } }, 4_000],
  ])("%s", (_, given, expected) => {
    const found = resolutionOf({ ...given, question: { ...question, ...given.question } });
    expect(found.is === "refused" ? found.error.code : found.recheckAfterMs).toBe(expected);
  });
});

describe("a sandbox that is suspended", () => {
  it("is woken only once its status is about the current generation", () => {
    expect(seen({ spec: suspended })).toBe("pending on its suspension to end");
    const said = (generation: number) => ({ Suspended: ["True", "PodTerminated", generation] as const });
    expect(seen({ spec: suspended, conditions: said(2) })).toBe("pending on its suspension to end");
    expect(seen({ spec: suspended, conditions: said(3) })).toBe("asleep");
    expect(seen({ spec: suspended, conditions: { Suspended: ["False", "PodTerminating", 3] } })).toMatch(/^pending/);
  });

  it.each<[string, Given, string]>([
    ["its trigger is Never", { spec: { ...suspended, autoResume: { trigger: "Never" } } }, "WakeNotAllowed"],
    ["its time is over", { spec: { ...suspended, shutdownTime: "2026-01-01T12:00:00Z" } }, "SandboxExpired"],
    ["its time is over, written with a comma", { spec: { ...suspended, shutdownTime: overByComma } }, "SandboxExpired"],
    ["it has expired", { spec: suspended, conditions: { Ready: ["False", "SandboxExpired", 3] } }, "SandboxExpired"],
    ["it is being deleted", { spec: suspended, meta: { deletionTimestamp: "x" } }, "SandboxDeleted"],
    [
      "no claim has it",
      { spec: suspended, meta: { labels: { "agents.x-k8s.io/warm-pool-sandbox": "h" } } },
      "Unclaimed",
    ],
    ["it was replaced", { spec: suspended, question: { firstUid: "u0" } }, "SandboxReplaced"],
    ["it is gone", { question: { sandbox: undefined, firstUid: "u1" } }, "SandboxDeleted"],
    ["there is none", { question: { sandbox: undefined } }, "SandboxNotFound"],
  ])("is not woken when %s", (_, given, code) => {
    expect(seen(given)).toBe(code);
  });
});

describe("a sandbox with an inactivity suspension", () => {
  const by = (generation: number) => ({ annotations: { [suspensionCauseAnnotation]: inactivityAt(generation) } });

  it("does not expire by a list of times, which the controller ignores, too", () => {
    const shutdownTime = ["2001-01-01T00:00:00Z"] as unknown as string;
    const conditions = { Suspended: ["True", "PodTerminated", 3] } as const;
    expect(seen({ spec: { ...suspended, shutdownTime }, conditions })).toBe("asleep");
  });

  it("is woken before its Pod is deleted, but not by an ignored request", () => {
    expect(seen({ spec: suspended, meta: by(3) })).toBe("asleep");
    expect(seen({ spec: suspended, meta: by(3), question: { ignored: true } })).toBe("WakeNotAllowed");
    expect(seen({ spec: suspended, meta: by(1) })).toBe("pending on its suspension to end");
  });

  it.each<[string, Given]>([
    ["its Pod is fenced", { question: { fences: { reportedGeneration: 0, fenced: new Set(["p1"]) } } }],
    ["its Pod is sealed", { meta: { annotations: { [sealedPodAnnotation]: seal } } }],
    [
      "the controller reported that it is suspended",
      { question: { fences: { reportedGeneration: 4, fenced: new Set() } } },
    ],
  ])("gets no request when %s", (_, given) => {
    const waiting = "pending on its suspension to complete or to be cancelled";
    expect(seen({ ...given, pod: { status: running } })).toBe(waiting);
  });
});

describe("a sandbox that runs", () => {
  it("is resolved to its Pod's address, and to a requested one if it is the Pod's", () => {
    expect(seen({ pod: { status: running } })).toBe("10.0.0.5:8888");
    const routed = { namespace: "lab", name: "nova", port: 80, byHost: false };
    expect(seen({ pod: { status: running }, question: { routed: { ...routed, podIp: "fd00::5" } } })).toBe(
      "fd00::5:80",
    );
    expect(seen({ pod: { status: running }, question: { routed: { ...routed, podIp: "10.9.9.9" } } })).toBe(
      "10.0.0.5:80",
    );
  });

  it.each<[string, Given, string]>([
    ["without a Pod", {}, "pending on its Pod to be created"],
    [
      "whose Pod goes",
      { pod: { meta: { deletionTimestamp: "x" }, status: running } },
      "pending on its former Pod to end",
    ],
    ["whose Pod has no address", { pod: { status: { phase: "Pending" } } }, "pending on its Pod to start"],
    ["whose Pod has a loopback address", { pod: { status: { podIP: "127.1.2.3" } } }, "BadAddress"],
    ["whose Pod has a mapped loopback address", { pod: { status: { podIP: "::ffff:127.0.0.1" } } }, "BadAddress"],
    ["whose Pod has ended", { pod: { status: { phase: "Succeeded" } } }, "PodEnded"],
    ["over quota", { conditions: { Ready: ["False", "ReconcilerError", 3] } }, "pending on its Pod to be created"],
    [
      "over quota, which is tried again",
      { conditions: { Ready: ["False", "ReconcilerError", 3, "exceeded quota: q"] } },
      "pending on room in its quota",
    ],
    ["that is invalid", { conditions: { Ready: ["False", "InvalidConfiguration", 3] } }, "InvalidConfiguration"],
    [
      "that was invalid",
      { conditions: { Ready: ["False", "InvalidConfiguration", 2] } },
      "pending on its Pod to be created",
    ],
    [
      "in the host's network",
      { pod: { spec: { containers: [main], hostNetwork: true }, status: running } },
      "PortNotDeclared",
    ],
  ])("%s", (_, given, expected) => {
    expect(seen(given)).toBe(expected);
  });

  it("waits for the kubelet if the activator cannot probe", () => {
    const probed = (readinessProbe: Container["readinessProbe"]) => ({
      containers: [{ ...main, ...(readinessProbe && { readinessProbe }) }],
    });
    const exec = { spec: probed({ exec: { command: ["true"] } }), status: running };
    expect(seen({ pod: exec })).toBe("pending on its Pod to be ready");
    expect(seen({ pod: exec, spec: { autoResume: { readiness: "PortOpen" } } })).toBe("10.0.0.5:8888");
    const ready = { ...running, conditions: [{ type: "Ready", status: "True" }] } as const;
    expect(seen({ pod: { ...exec, status: ready } })).toBe("10.0.0.5:8888");
    expect(seen({ pod: { spec: probed({ httpGet: { port: 80 } }), status: running } })).toBe("10.0.0.5:8888");
    expect(seen({ pod: { status: running }, spec: { autoResume: { readiness: "PodReady" } } })).toMatch(/^pending/);
    const headers = (length: number) => Array.from({ length }, (_, at) => ({ name: `h${at}`, value: "" }));
    const requesting = (httpHeaders: ReturnType<typeof headers>, path = "/") =>
      seen({ pod: { spec: probed({ httpGet: { port: 80, path, httpHeaders } }), status: running } });
    expect(requesting(headers(32))).toBe("10.0.0.5:8888");
    expect(requesting(headers(33))).toBe("pending on its Pod to be ready");
    expect(requesting([], `/${"x".repeat(4_096)}`)).toBe("pending on its Pod to be ready");
    const containers = Array.from({ length: 17 }, () => ({ ...main, readinessProbe: { tcpSocket: { port: 8888 } } }));
    expect(seen({ pod: { status: running, spec: { containers } } })).toMatch(/^pending/);
    expect(seen({ pod: { status: running, spec: { containers: containers.slice(1) } } })).toBe("10.0.0.5:8888");
  });
});

describe("a failing Pod that has an address", () => {
  const failed = (state: object) => [
    { name: "main", image: "program", imageID: "", ready: false, restartCount: 1, state },
  ];

  it("ends a request at once if it has ended, because nothing can disprove that", () => {
    expect(seen({ pod: { status: { ...running, phase: "Failed" } } })).toBe("PodEnded");
  });

  it("may still be tried if only a container of it fails", () => {
    const containerStatuses = failed({ waiting: { reason: "CrashLoopBackOff" } });
    const found = resolutionOf({ pod: { status: { ...running, containerStatuses } } });
    expect(found.is === "addressed" ? found.failure?.code : found.is).toBe("ContainerFailed");
  });
});
