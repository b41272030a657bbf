import { describe, expect, it } from "vitest";
import type { Container, Pod, PodSpec, PodStatus } from "../../../../api/kinds/core.ts";
import { cellsOf, createComplaints, prepared, updateComplaints } from "../../../../test/support/admissions.ts";
import { podKind } from "./pod-kind.ts";

const container: Container = { name: "main", image: "example/app:1" };

function pod(spec: Partial<PodSpec> = {}, status?: PodStatus): Pod {
  const metadata = { name: "a", namespace: "default" };
  return { metadata, spec: { containers: [container], ...spec }, ...(status && { status }) };
}

const podWith = (changes: Partial<Container>): Pod => pod({ containers: [{ ...container, ...changes }] });

describe("defaults", () => {
  it("has the defaults of an API server", () => {
    expect(prepared(podKind, pod())).toMatchObject({
      spec: {
        restartPolicy: "Always",
        dnsPolicy: "ClusterFirst",
        terminationGracePeriodSeconds: 30,
        schedulerName: "default-scheduler",
        serviceAccountName: "default",
        enableServiceLinks: true,
        securityContext: {},
        containers: [{ imagePullPolicy: "IfNotPresent", terminationMessagePolicy: "File", resources: {} }],
      },
      status: { phase: "Pending", qosClass: "BestEffort" },
    });
  });

  it.each([
    ["example/app", "Always"],
    ["example/app:latest", "Always"],
    ["registry:5000/app", "Always"],
    ["example/app:1", "IfNotPresent"],
    ["example/app@sha256:abc", "IfNotPresent"],
  ])("an image %s is pulled %s", (image, imagePullPolicy) => {
    expect(prepared<Pod>(podKind, podWith({ image })).spec?.containers[0]).toMatchObject({ imagePullPolicy });
  });

  it("completes ports, probes, volumes and references to fields", () => {
    const completed = prepared<Pod>(
      podKind,
      pod({
        containers: [
          {
            ...container,
            ports: [{ containerPort: 80 }],
            readinessProbe: { httpGet: { port: 80 } },
            env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
          },
        ],
        volumes: [{ name: "scratch" }, { name: "settings", configMap: { name: "a" } }],
      }),
    );
    expect(completed.spec).toMatchObject({
      containers: [
        {
          ports: [{ containerPort: 80, protocol: "TCP" }],
          readinessProbe: {
            httpGet: { path: "/", scheme: "HTTP" },
            timeoutSeconds: 1,
            periodSeconds: 10,
            failureThreshold: 3,
          },
          env: [{ valueFrom: { fieldRef: { apiVersion: "v1" } } }],
        },
      ],
      volumes: [{ emptyDir: {} }, { configMap: { defaultMode: 0o644 } }],
    });
  });

  it("requests the limits of a container by default", () => {
    const limits = { cpu: "1", memory: "1Gi" };
    expect(prepared(podKind, podWith({ resources: { limits } }))).toMatchObject({
      spec: { containers: [{ resources: { requests: limits } }] },
      status: { qosClass: "Guaranteed" },
    });
  });

  it("has no effect when it is repeated", () => {
    const once = prepared<Pod>(podKind, pod({ volumes: [{ name: "a" }] }));
    expect(prepared(podKind, once)).toEqual(once);
  });
});

describe("validation", () => {
  it.each<[string, Pod, string]>([
    ["no containers", pod({ containers: [] }), "spec.containers: Required value"],
    ["no image", podWith({ image: "" }), "spec.containers[0].image: Required value"],
    [
      "an invalid port",
      podWith({ ports: [{ containerPort: 70_000 }] }),
      "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
    [
      "a long port name",
      podWith({ ports: [{ containerPort: 1, name: "a-very-long-port-name" }] }),
      'spec.containers[0].ports[0].name: Invalid value: "a-very-long-port-name": must be no more than 15 characters',
    ],
    [
      "a mount without its volume",
      podWith({ volumeMounts: [{ name: "data", mountPath: "/data" }] }),
      'spec.containers[0].volumeMounts[0].name: Not found: "data"',
    ],
    [
      "two containers of one name",
      pod({ containers: [container, container] }),
      'spec.containers[1].name: Duplicate value: "main"',
    ],
    [
      "two volumes of one name",
      pod({ volumes: [{ name: "a" }, { name: "a" }] }),
      'spec.volumes[1].name: Duplicate value: "a"',
    ],
    [
      "an unknown restart policy",
      pod({ restartPolicy: "Maybe" }),
      'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never", "OnFailure"',
    ],
    [
      "a probe without a handler",
      podWith({ readinessProbe: { periodSeconds: 1 } }),
      "spec.containers[0].readinessProbe: Required value: must specify a handler type",
    ],
    [
      "a liveness probe that has to succeed twice",
      podWith({ livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } }),
      "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ],
  ])("refuses %s", (_case, object, complaint) => {
    expect(createComplaints(podKind, object)).toEqual([complaint]);
  });

  it("reports a container's missing name once", () => {
    const { name: _name, ...nameless } = container;
    expect(createComplaints(podKind, pod({ containers: [nameless as Container] }))).toEqual([
      "spec.containers[0].name: Required value",
    ]);
  });

  it("takes the same variable twice: the last one counts", () => {
    const env = [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ];
    expect(createComplaints(podKind, podWith({ env }))).toEqual([]);
  });
});

describe("updates", () => {
  it.each<[string, Pod]>([
    ["a command", podWith({ command: ["other"] })],
    ["a container more", pod({ containers: [container, { ...container, name: "more" }] })],
    ["another node", pod({ nodeName: "other" })],
  ])("refuse %s", (_case, next) => {
    const [complaint, ...more] = updateComplaints(
      podKind,
      pod({ nodeName: "node" }),
      pod({ nodeName: "node", ...next.spec }),
    );
    expect(complaint).toMatch(
      /^spec: Forbidden: pod updates may not change fields other than `spec.containers\[\*\].image`/,
    );
    expect(more).toEqual([]);
  });

  it.each<[string, Pod]>([
    ["a new image", podWith({ image: "example/app:2" })],
    ["the node that took the Pod", pod({ nodeName: "node" })],
    ["a deadline", pod({ activeDeadlineSeconds: 5 })],
  ])("take %s", (_case, next) => {
    expect(updateComplaints(podKind, pod(), next)).toEqual([]);
  });
});

describe("scheduling gates", () => {
  const gates = (...names: readonly string[]) => ({ schedulingGates: names.map((name) => ({ name })) });

  it("keep a Pod from having a node, from its creation on", () => {
    const refusal = "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared";
    expect(createComplaints(podKind, pod({ nodeName: "n1", ...gates("a.b/c") }))).toEqual([refusal]);
    expect(createComplaints(podKind, pod({ nodeName: "n1", schedulingGates: [] }))).toEqual([]);
    expect(createComplaints(podKind, pod(gates("a.b/c")))).toEqual([]);
    expect(updateComplaints(podKind, pod(gates("a.b/c")), pod({ nodeName: "n1", ...gates("a.b/c") }))).toEqual([
      refusal,
    ]);
  });

  it("can be removed, and none can be added later", () => {
    expect(updateComplaints(podKind, pod(gates("a.b/c", "a.b/d")), pod(gates("a.b/d")))).toEqual([]);
    expect(updateComplaints(podKind, pod(gates("a.b/c")), pod(gates("a.b/c", "a.b/d")))).toEqual([
      "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a.b/d'",
    ]);
  });
});

describe("deletion", () => {
  it.each<[string, Pod, number | undefined, number]>([
    ["no node took it", pod(), undefined, 0],
    ["a node has it", pod({ nodeName: "n", terminationGracePeriodSeconds: 7 }), undefined, 7],
    ["a shorter grace is requested", pod({ nodeName: "n" }), 1, 1],
    ["a grace of zero is requested", pod({ nodeName: "n" }), 0, 0],
    ["it has ended", pod({ nodeName: "n" }, { phase: "Succeeded" }), undefined, 0],
  ])("gives the grace that is due when %s", (_case, object, requested, seconds) => {
    expect(podKind.graceSeconds?.(object, requested)).toBe(seconds);
  });
});

describe("columns", () => {
  const running = { running: { startedAt: "2026-01-02T03:00:00Z" } };
  const status = { name: "main", image: "", imageID: "", restartCount: 0, ready: false };

  it.each<[string, PodStatus, Readonly<Record<string, string>>]>([
    [
      "runs",
      { phase: "Running", containerStatuses: [{ ...status, ready: true, state: running }] },
      { Ready: "1/1", Status: "Running", Restarts: "0" },
    ],
    [
      "waits to be made",
      { phase: "Pending", containerStatuses: [{ ...status, state: { waiting: { reason: "ContainerCreating" } } }] },
      { Ready: "0/1", Status: "ContainerCreating" },
    ],
    [
      "crashes again and again",
      {
        phase: "Running",
        containerStatuses: [
          {
            ...status,
            restartCount: 3,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { exitCode: 1, finishedAt: "2026-01-02T03:03:05Z" } },
          },
        ],
      },
      { Status: "CrashLoopBackOff", Restarts: "3 (60s ago)" },
    ],
    [
      "has done its work",
      {
        phase: "Succeeded",
        containerStatuses: [{ ...status, state: { terminated: { exitCode: 0, reason: "Completed" } } }],
      },
      { Status: "Completed" },
    ],
    [
      "was killed",
      { phase: "Failed", containerStatuses: [{ ...status, state: { terminated: { exitCode: 137, signal: 9 } } }] },
      { Status: "Signal:9" },
    ],
    ["was evicted", { phase: "Failed", reason: "Evicted" }, { Status: "Evicted" }],
    [
      "initializes",
      { phase: "Pending", initContainerStatuses: [{ ...status, state: running }] },
      { Status: "Init:0/1" },
    ],
  ])("show a Pod that %s", (_case, podStatus, cells) => {
    const initContainers = podStatus.initContainerStatuses ? [container] : [];
    expect(cellsOf(podKind, pod({ initContainers }, podStatus))).toMatchObject(cells);
  });

  it("show a Pod that is on its way down as Terminating", () => {
    const { metadata, ...rest } = pod({}, { phase: "Running" });
    const going = { ...rest, metadata: { ...metadata, deletionTimestamp: "2026-01-02T03:04:00Z" } };
    expect(cellsOf(podKind, going)).toMatchObject({ Status: "Terminating" });
  });

  it("show address and node", () => {
    expect(cellsOf(podKind, pod({ nodeName: "n" }, { podIP: "127.0.0.2" }))).toMatchObject({
      IP: "127.0.0.2",
      Node: "n",
    });
    expect(cellsOf(podKind, pod())).toMatchObject({ IP: "<none>", Node: "<none>" });
  });
});
