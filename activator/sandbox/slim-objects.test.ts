import { describe, expect, it } from "vitest";
import type { Container, Pod, PodSpec } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { SandboxClaim } from "../../api/kinds/sandbox-claim.ts";
import { busyTargetOf } from "../../api/rules/busy-target.ts";
import { probeHeadersMax } from "../../api/rules/probe-request.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { failureOfPod } from "../failures/detect-failures.ts";
import { readinessOf } from "../readiness/readiness.ts";
import { sightsAfter } from "./pod-sights.ts";
import { slimClaim, slimPod } from "./slim-objects.ts";

const sandbox = aSandbox({ autoSuspension: { busyProbe: { httpGet: { port: "status" } } } });
const bulk = { note: "x".repeat(100_000) };
const env = [{ name: "BULK", value: bulk.note }];
/** Long after the first sight of a Pod: a failure that begins only after a time has begun. */
const hourMs = 3_600_000;
const headers = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `x-${at}`, value: "1" }));

const container = (more: Partial<Container> = {}): Container => ({
  ...{ name: "main", image: "program", env, ports: [{ name: "status", containerPort: 9000 }] },
  ...more,
});

function podWith(spec: Partial<PodSpec>, status: Pod["status"] = {}): Stored<Pod> {
  const pod = aPodOf(sandbox, {}, { phase: "Running", podIP: "10.0.0.7", podIPs: [{ ip: "10.0.0.7" }], ...status });
  const metadata = { ...pod.metadata, annotations: bulk, labels: bulk, managedFields: [bulk] };
  return { ...pod, metadata, spec: { containers: [container()], ...spec } };
}

const small = (object: unknown) => JSON.stringify(object).length;

describe("a Pod of a sandbox in the activator", () => {
  const probe = (readinessProbe: Container["readinessProbe"]) => ({
    containers: [container({ ...(readinessProbe && { readinessProbe }) })],
  });
  it.each([
    { what: "no probe", pod: podWith({}) },
    { what: "a probe of a named port", pod: podWith(probe({ httpGet: { port: "status", path: "/up" } })) },
    { what: "a probe with headers", pod: podWith(probe({ httpGet: { port: 9000, httpHeaders: headers(3) } })) },
    { what: "a TCP probe", pod: podWith(probe({ tcpSocket: { port: 9000 }, timeoutSeconds: 3 })) },
    { what: "a probe that only the kubelet runs", pod: podWith(probe({ exec: { command: ["true"] } })) },
    {
      what: "a large probe",
      pod: podWith(probe({ httpGet: { port: 9000, httpHeaders: headers(probeHeadersMax + 1) } })),
    },
    { what: "a readiness gate", pod: podWith({ readinessGates: [{ conditionType: "a" }, { conditionType: "b" }] }) },
    {
      what: "a sidecar with a probe",
      pod: podWith({
        initContainers: [
          container({ name: "once" }),
          container({ restartPolicy: "Always", readinessProbe: { tcpSocket: { port: 1 } } }),
        ],
      }),
    },
    {
      what: "a container that has ended and is not restarted",
      pod: podWith(
        { restartPolicy: "Never" },
        { containerStatuses: [{ name: "main", state: { terminated: { exitCode: 0 } } }] as never },
      ),
    },
    {
      what: "no node that can run it",
      pod: podWith({}, { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }] }),
    },
    { what: "the address of its node", pod: podWith({ hostNetwork: true }) },
  ])("means the same as the whole Pod, with $what", ({ pod }) => {
    const slim = slimPod(pod);
    const failureOf = (seen: Stored<Pod>) => {
      const sightings = { sightsOf: () => sightsAfter(undefined, seen, 0) };
      return failureOfPod(seen, "nova", { nowMs: hourMs, sightings, unschedulableGraceMs: 60_000 });
    };
    for (const mode of ["Auto", "PodReady", "PortOpen"] as const) {
      expect(readinessOf(slim, mode)).toEqual(readinessOf(pod, mode));
    }
    expect(failureOf(slim)).toEqual(failureOf(pod));
    expect(busyTargetOf(sandbox, slim)).toEqual(busyTargetOf(sandbox, pod));
    expect(slim.metadata.ownerReferences).toEqual(pod.metadata.ownerReferences);
    expect(slim.spec?.hostNetwork).toEqual(pod.spec?.hostNetwork);
    expect(small(slim)).toBeLessThan(3_000);
  });
});

it("of any other Pod the activator keeps its addresses, its end and whether it is on its node's network", () => {
  const pod = podWith({ hostNetwork: true });
  const { status, spec, metadata } = slimPod({ ...pod, metadata: { ...pod.metadata, ownerReferences: [] } });
  expect({ status, spec }).toEqual({
    status: { phase: "Running", podIP: "10.0.0.7", podIPs: [{ ip: "10.0.0.7" }] },
    spec: { containers: [], hostNetwork: true },
  });
  expect(small(metadata)).toBeLessThan(500);
});

it("of a claim the activator keeps which sandbox it has", () => {
  const metadata = { ...sandbox.metadata, annotations: bulk, managedFields: [bulk] };
  const claim: Stored<SandboxClaim> = {
    ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", metadata },
    spec: { warmPoolRef: { name: "warm" }, env: [{ name: "BULK", value: bulk.note }] },
    status: { sandbox: { name: "nova" } },
  };
  expect(slimClaim(claim).status).toEqual({ sandbox: { name: "nova" } });
  expect(slimClaim(claim).metadata.uid).toBe(metadata.uid);
  expect(small(slimClaim(claim))).toBeLessThan(1_000);
});
