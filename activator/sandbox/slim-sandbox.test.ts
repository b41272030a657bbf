import { describe, expect, it } from "vitest";
import type { Condition, ObjectMeta, OwnerReference, Stored } from "../../api/kinds/meta.ts";
import type { Sandbox, SandboxSpec } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { busyTargetOf } from "../../api/rules/busy-target.ts";
import { defaultPort, tcpPorts } from "../../api/rules/declared-ports.ts";
import { effectiveAutoResume, effectiveAutoSuspension, effectiveSuspensionStrategy } from "../../api/rules/defaults.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation, warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import { causeOf, formatSeal, inactivityAt, mayAskToRun, sealOf } from "../../api/rules/suspension.ts";
import { aPodOf, aSandbox, noon } from "../../test/support/builders/builders.ts";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import { currentCondition, failureOfSandbox } from "../failures/detect-failures.ts";
import { resolveSandbox } from "./resolve.ts";
import { type SlimSandbox, slimSandbox } from "./slim-sandbox.ts";

const bulk = "x".repeat(100_000);
const main = { name: "main", image: "program", env: [{ name: "BULK", value: bulk }] };
const withPorts = (...ports: readonly object[]) => ({
  podTemplate: { spec: { containers: [{ ...main, ports: ports as never }] } },
});
const seal = formatSeal({ podName: "nova", podUid: "p1", cause: "Inactivity", at: noon });
const claim: OwnerReference = {
  ...{ apiVersion: "extensions.agents.x-k8s.io/v1alpha1", kind: "SandboxClaim", name: "c", uid: "c1" },
  controller: true,
};

const condition = (type: string, reason: string, message = ""): Condition => ({
  ...{ type, status: reason === "SandboxSuspended" ? "True" : "False", reason, message },
  ...{ lastTransitionTime: noon, observedGeneration: 1 },
});

interface Case {
  readonly what: string;
  readonly spec?: Partial<SandboxSpec>;
  readonly meta?: Partial<ObjectMeta>;
  readonly conditions?: readonly Condition[];
}

const cases: readonly Case[] = [
  { what: "nothing of its own" },
  {
    what: "a UDP port before its TCP port",
    spec: withPorts({ containerPort: 53, protocol: "UDP" }, { containerPort: 80 }),
  },
  { what: "the address of its node", spec: { podTemplate: { spec: { containers: [main], hostNetwork: true } } } },
  { what: "a seal", meta: { annotations: { [sealedPodAnnotation]: seal } } },
  { what: "a seal that is too long", meta: { annotations: { [sealedPodAnnotation]: `${seal}${" ".repeat(2_000)}` } } },
  {
    what: "a suspension for inactivity",
    spec: { operatingMode: "Suspended" },
    meta: { annotations: { [suspensionCauseAnnotation]: inactivityAt(1) } },
  },
  {
    what: "a complete suspension",
    spec: { operatingMode: "Suspended" },
    conditions: [condition("Suspended", "SandboxSuspended")],
  },
  { what: "a wake that is not allowed", spec: { operatingMode: "Suspended", autoResume: { trigger: "Never" } } },
  {
    what: "all settings of its resumes",
    spec: { autoResume: { timeoutSeconds: 0, readiness: "PodReady", allowFrom: "Cluster", waitPage: "Never" } },
  },
  {
    what: "all settings of its suspensions",
    spec: {
      autoSuspension: {
        ...{ inactivityTimeoutSeconds: 60, drainTimeoutSeconds: 0, unansweredLimitSeconds: 0 },
        ...{ openConnections: "Count", keepAwakeUntil: "2026-01-01T12:00:00.000Z" },
        busyProbe: {
          limitSeconds: 5,
          httpGet: { port: 80, path: "/b", scheme: "HTTPS", httpHeaders: [{ name: "a", value: "b" }] },
        },
        ignoreRequests: [{ pathPrefix: "/health" }, { userAgentPrefix: "probe" }],
      },
    },
  },
  { what: "memory that is to be kept", spec: { suspensionStrategy: { type: "Hibernate", timeoutSeconds: 5 } } },
  { what: "an end", spec: { shutdownTime: "2026-01-01T14:59:59,5+02:00" } },
  { what: "an end that cannot be read", spec: { shutdownTime: "never" } },
  { what: "a warm pool", meta: { labels: { [warmPoolSandboxLabel]: "warm" } } },
  { what: "a claim", meta: { ownerReferences: [{ ...claim, controller: false, uid: "c0" }, claim] } },
  { what: "an invalid configuration", conditions: [condition("Ready", "InvalidConfiguration", "wrong")] },
  {
    what: "no room in its quota",
    conditions: [condition("Ready", "ReconcilerError", `pods "nova" is forbidden: exceeded quota: q${bulk}`)],
  },
  { what: "a deletion", meta: { deletionTimestamp: noon } },
];

function stored({ spec, meta, conditions = [] }: Case): Stored<Sandbox> {
  const others = [condition("Finished", "PodFailed", bulk)];
  const status = { conditions: [...others, ...conditions], selector: bulk, podIPs: ["10.0.0.1"] };
  const sandbox = aSandbox({ ...withPorts({ containerPort: 80 }), ...spec }, meta, status);
  const { annotations, labels } = sandbox.metadata;
  const metadata = { annotations: { note: bulk, ...annotations }, labels: { note: bulk, ...labels } };
  return { ...sandbox, metadata: { ...sandbox.metadata, ...metadata, managedFields: [bulk], finalizers: [bulk] } };
}

/** What the activator reads of a Sandbox. */
function meaningOf(sandbox: Stored<SlimSandbox>, whole: Stored<Sandbox>) {
  const pod = aPodOf(whole, {}, { phase: "Running", podIP: "10.0.0.7" });
  const found = resolveSandbox({
    ...{ sandbox, pod, routed: { namespace: "lab", name: "nova", port: undefined }, firstUid: undefined },
    ...{ now: new Date("2026-01-01T13:00:00Z"), nowMs: 0, sightings: { sightsOf: () => undefined } },
    ...{ unschedulableGraceMs: undefined, allowLoopbackPodIp: false, ignored: false, validForMs: 120_000 },
    fences: { reportedGeneration: 0, fenced: new Set<string>() },
  });
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp } = sandbox.metadata;
  return {
    ...{ name, namespace, uid, resourceVersion, generation, deletionTimestamp },
    found: found.is === "asleep" ? found.is : found,
    port: defaultPort(sandbox.spec.podTemplate.spec),
    probe: busyTargetOf(sandbox, pod),
    resume: effectiveAutoResume(sandbox.spec),
    suspension: effectiveAutoSuspension(sandbox.spec),
    strategy: effectiveSuspensionStrategy(sandbox.spec).type,
    ...{ seal: sealOf(sandbox), cause: causeOf(sandbox), mayAsk: mayAskToRun(sandbox) },
    failure: failureOfSandbox(sandbox, "nova"),
    reason: currentCondition(sandbox, "Ready")?.reason,
    claim: controllerOfKind(sandbox, sandboxClaimType)?.uid,
  };
}

describe("a Sandbox in the activator", () => {
  it.each(cases)("means the same as the whole Sandbox, with $what, and has few bytes", (given) => {
    const whole = stored(given);
    const slim = slimSandbox(whole);
    expect(meaningOf(slim, whole)).toEqual(meaningOf(whole, whole));
    expect(JSON.stringify(slim).length).toBeLessThan(3_000);
  });
});

it("of a wake it is kept how it went, with the UID of the Pod, for a sandbox that is to hibernate", () => {
  const lastWake = { mode: "Restored", podUID: "p1", durationMilliseconds: 5 } as const;
  const kept = (strategy: SandboxSpec["suspensionStrategy"], wake: object = lastWake) =>
    slimSandbox(aSandbox({ suspensionStrategy: strategy ?? {} }, {}, { hibernation: { lastWake: wake as never } }))
      .status;
  expect(kept({ type: "Hibernate" })?.hibernation).toEqual({ lastWake: { mode: "Restored", podUID: "p1" } });
  expect(kept({ type: "Stop" })).toEqual({ conditions: [] });
  expect(kept({ type: "Hibernate" }, { mode: "Anew", reason: "NoProvider" })).toEqual({ conditions: [] });
  expect(kept({ type: "Hibernate" }, { mode: "Anew", podUID: bulk })).toEqual({ conditions: [] });
});

it("the TCP ports that it declares are kept if it may be reached by name, each once, and 32 at most", () => {
  const ports = [
    { containerPort: 53, protocol: "UDP" },
    ...[80, 81, 80, 82].map((containerPort) => ({ containerPort })),
  ];
  const kept = (spec: Partial<SandboxSpec>) => tcpPorts(slimSandbox(aSandbox(spec)).spec.podTemplate.spec);
  const autoResume = { allowFrom: "Any" } as const;
  expect(kept({ ...withPorts(...ports), autoResume })).toEqual([80, 81, 82]);
  expect(kept(withPorts(...ports))).toEqual([80]);
  expect(kept({ autoResume })).toEqual([8888]);
  const many = Array.from({ length: 100 }, (_, at) => ({ containerPort: at + 1 }));
  expect(kept({ ...withPorts(...many), autoResume })).toHaveLength(32);
});

it("a Sandbox without required fields is kept, with the default port", () => {
  const { metadata } = aSandbox();
  const spec = { podTemplate: {}, autoSuspension: { busyProbe: {} } };
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  for (const given of [spec, {}]) {
    const slim = slimSandbox({ metadata, spec: given, status } as unknown as Stored<Sandbox>);
    expect(defaultPort(slim.spec.podTemplate.spec)).toBe(8888);
  }
});

it("an activator keeps little of a Sandbox whose owner fills every field that has no limit", async () => {
  const ports = Array.from({ length: 5_000 }, (_, at) => ({ containerPort: at + 1, name: `p${at}` }));
  const large = { ...claim, apiVersion: `extensions.agents.x-k8s.io/${bulk}` };
  const httpGet = { port: 80, path: `/${bulk}` };
  const text = JSON.stringify(
    stored({
      what: "",
      spec: {
        ...withPorts(...ports),
        shutdownTime: `2026-01-01T13:00:00.${"0".repeat(100_000)}Z`,
        autoSuspension: { busyProbe: { httpGet }, keepAwakeUntil: `2026-01-01T13:00:00.${"0".repeat(100_000)}Z` },
      },
      meta: {
        annotations: { [sealedPodAnnotation]: bulk, [suspensionCauseAnnotation]: bulk },
        ownerReferences: [large],
      },
      conditions: [condition("Ready", "InvalidConfiguration", bulk), condition("Suspended", "NotSuspended", bulk)],
    }),
  );
  const kept: unknown[] = [];
  const bytes = await heapBytesOf(() => {
    for (let count = 0; count < 100; count += 1) kept.push(slimSandbox(JSON.parse(text)));
  });
  expect(text.length).toBeGreaterThan(800_000);
  expect(bytes / kept.length).toBeLessThan(8_000);
});
