import { describe, expect, it } from "vitest";
import type { KubeObject, Stored } from "../../../api/kinds/meta.ts";
import type { Container, ContainerPort } from "../../../api/kinds/pod.ts";
import type { Sandbox, SandboxSpec } from "../../../api/kinds/sandbox.ts";
import { currentBlueprint } from "../../../controller/blueprint/current-blueprint.ts";
import { isStale } from "../../../controller/blueprint/staleness.ts";
import { adoptionPatch } from "../../../controller/claim/adoption/adoption-patch.ts";
import { makeClaimedSandbox } from "../../../controller/claim/create/make-claimed-sandbox.ts";
import { validateMetadata } from "../../../controller/claim/create/validate-metadata.ts";
import { decide as decideSandbox } from "../../../controller/sandbox/decide.ts";
import { newPodMetadata } from "../../../controller/sandbox/pod-metadata.ts";
import { makeService } from "../../../controller/sandbox/service/make-service.ts";
import { conclude } from "../../../controller/sandbox/status/conclude.ts";
import { KeptWrites } from "../../../controller/stores/kept-writes.ts";
import { decide as decideFront } from "../../../controller/tcp-front/decide.ts";
import { decide as decideTemplate } from "../../../controller/template/decide.ts";
import { makeNetworkPolicy } from "../../../controller/template/make-network-policy.ts";
import { classifyMember } from "../../../controller/warm-pool/classify-member.ts";
import type { Observed as ObservedPool } from "../../../controller/warm-pool/observed.ts";
import { makeMember } from "../../../controller/warm-pool/resize/make-member.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { aPodOf, aSandbox, noon, stored } from "../../support/builders/builders.ts";
import { aSandboxClaim, aSpare } from "../../support/builders/claim-builders.ts";
import { aMember, aPool, aTemplate } from "../../support/builders/extension-builders.ts";
import { anObservation } from "../../support/builders/observed.ts";
import { cpuMs, cpuMsOf } from "../../support/cpu-time.ts";

// The default size limit of a request to etcd (its documentation, system limits).
const requestBytesMax = 1.5 * 1024 * 1024;
// Quadratic work over such a list takes a minute, and a leader must renew its Lease within ten seconds.
const passMsMax = 3_000;

const many = <T>(count: number, of: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => of(at));
const keys = (count: number, domain: string): Readonly<Record<string, string>> =>
  Object.fromEntries(many(count, (at) => [`${domain}/l${at}`, "x"]));
const podWith = (container: Partial<Container>): SandboxSpec["podTemplate"] => ({
  spec: { containers: [{ name: "main", image: "i", ...container }] },
});
const ports = (count: number) => many(count, (at): ContainerPort => ({ containerPort: 1 + at }));
const variables = (count: number) => many(count, (at) => ({ name: `V${at}`, value: "0123456789" }));

/** An object just below the size limit of an API server. */
function large<T extends object>(object: T): T {
  const bytes = JSON.stringify(object).length;
  expect(bytes).toBeGreaterThan(requestBytesMax * 0.75);
  expect(bytes).toBeLessThan(requestBytesMax);
  return object;
}

const expectQuick = (pass: () => unknown) => expect(cpuMs(pass)).toBeLessThan(passMsMax);

describe("a reconcile of a Sandbox of 1.5 MiB is quick", () => {
  const pass = (sandbox: Stored<Sandbox>, seen: Parameters<typeof anObservation>[0]) => () => {
    const observed = anObservation({ sandbox, ...seen });
    decideSandbox(observed);
    conclude({ course: "children", observed, failures: [], clusterDomain: "cluster.local" });
  };

  it("with a port in each line", () => {
    const sandbox = large(aSandbox({ service: true, podTemplate: podWith({ ports: ports(58_000) }) }));
    const service = { ...makeService(sandbox, "headless"), metadata: stored("nova", {}) };
    expectQuick(pass(sandbox, { service }));
  });

  it("with one port whose protocols differ only in case", () => {
    const spelled = (at: number) => many(16, (bit) => ((at >> bit) & 1 ? "A" : "a")).join("");
    const alike = many(27_000, (at) => ({ containerPort: 1, protocol: spelled(at) })) as readonly ContainerPort[];
    expectQuick(pass(large(aSandbox({ service: true, podTemplate: podWith({ ports: alike }) })), {}));
  });

  it("with labels that its Pod does not have, instead of others", () => {
    const withLabels = (domain: string) =>
      aSandbox({ podTemplate: { ...podWith({}), metadata: { labels: keys(50_000, domain) } } });
    const sandbox = large(withLabels("users.example.org"));
    const pod = aPodOf(sandbox, newPodMetadata(withLabels("others.example.org")));
    expectQuick(pass(sandbox, { pods: [pod] }));
  });

  it("with ports for the activators", () => {
    const sandbox = large(aSandbox({ service: true, autoResume: {}, podTemplate: podWith({ ports: ports(58_000) }) }));
    const reserved = many(20_000, (at) => ({ name: `p${at}`, containerPort: 58_000 - at, activatorPort: 10_000 + at }));
    const observed = {
      now: new Date(noon),
      quarantineMs: 600_000,
      rested: new Map(),
      sandbox,
      hasService: true,
      slice: undefined,
      reserved,
    };
    expectQuick(() => decideFront({ ...observed, contested: new Set(), freePorts: [], activators: [] }));
  });
});

describe("a reconcile of a SandboxClaim of 1.5 MiB is quick", () => {
  it("with variables for its container", () => {
    const claim = large(aSandboxClaim({ env: variables(37_000) }));
    expectQuick(() => makeClaimedSandbox(aTemplate({ envVarsInjectionPolicy: "Allowed" }), claim));
  });

  it("with variables of which the last one is forbidden", () => {
    const env = many(60_000, (at) => ({ name: at === 59_999 ? "TAKEN" : "a", value: "" }));
    const claim = large(aSandboxClaim({ env }));
    const podTemplate = podWith({ env: [{ name: "TAKEN", value: "" }] });
    const template = aTemplate({ envVarsInjectionPolicy: "Allowed", podTemplate });
    expectQuick(() => expect(() => makeClaimedSandbox(template, claim)).toThrow("override is not allowed"));
  });

  it("with labels for its Pod", () => {
    const labels = keys(50_000, "sandbox.users.io");
    const claim = large(aSandboxClaim({ additionalPodMetadata: { labels } }));
    expectQuick(() => {
      validateMetadata({ labels }, ["sandbox.users.io"]);
      adoptionPatch(aSpare(), claim, aTemplate());
    });
  });
});

describe("a reconcile of a SandboxTemplate of 1.5 MiB is quick", () => {
  const withCpu = (cpu: string) =>
    aTemplate({ podTemplate: podWith({ env: variables(35_000), resources: { requests: { cpu } } }) });

  const withCpuAlone = (cpu: string) => aTemplate({ podTemplate: podWith({ resources: { requests: { cpu } } }) });

  it("for a pool whose members write a quantity in another form", () => {
    const template = large(withCpu("1"));
    const former = withCpu("1000m");
    const members = many(8, (at) => aMember({ template: former, metadata: { name: `warm-${at}` } }));
    const observed: ObservedPool = {
      ...{ now: new Date(noon), pool: aPool({ updateStrategy: { type: "Recreate" } }), policyGap: undefined },
      ...{ template: { object: template, blueprint: currentBlueprint(template) }, labelled: members },
      snapshot: { owner: "uid-of-warm", satisfied: true, pendingCreations: 0, raises: 0 },
      ...{ pendingDeletions: new Set(), pods: new Map(), agesMs: new Map(), readinessGraceMs: () => 300_000 },
    };
    const pass = () => members.map((member) => expect(classifyMember(member, observed).is).toBe("active"));
    pass();
    // Each member was compared once, and is the same object in later reconciles.
    expectQuick(() => many(30, pass));
  });

  it("with a text of a million digits that is not a quantity", () => {
    const template = large(withCpuAlone(`${"9".repeat(1_400_000)}x`));
    const member = aMember({ template: withCpuAlone(`${"9".repeat(1_399_999)}8x`) });
    expectQuick(() => expect(isStale(member, currentBlueprint(template))).toBe(true));
  });

  it("for a pool that creates members", () => {
    const object = large(withCpu("1"));
    expectQuick(() =>
      many(100, (at) => makeMember(`warm-${at}`, aPool(), { object, blueprint: currentBlueprint(object) }, true)),
    );
  });

  it("with rules for its network policy", () => {
    const rule = (at: number) => ({ from: [{ ipBlock: { cidr: `10.0.${at % 255}.0/24` } }], ports: [{ port: at }] });
    const template = large(aTemplate({ networkPolicy: { ingress: many(20_000, rule) } }));
    const policy = { ...makeNetworkPolicy(template), metadata: stored("tpl-network-policy", {}) };
    const users = { sandboxes: [], pods: [] };
    const observed = { namespace: "lab", name: "tpl", template, policy, users, lost: undefined };
    expectQuick(() => decideTemplate(observed));
  });
});

describe("a write whose object has 1.5 MiB of metadata is quick", () => {
  const owners = (uidOf: (at: number) => string) =>
    many(23_000, (at) => ({ apiVersion: "a.b/v1", kind: "K", name: "n", uid: uidOf(at) }));
  const labels = keys(45_000, "users.example.org");
  it.each([
    ["owners", { ownerReferences: owners((at) => String(100_000 + at)) }],
    ["owners of one UID", { ownerReferences: owners(() => "100000") }],
    ["finalizers", { finalizers: many(60_000, (at) => `users.example.org/${at}`) }],
    ["labels", { labels }],
    ["labels to be removed", { labels: Object.fromEntries(Object.keys(labels).map((key) => [key, null])) }],
  ] as const)("with %s", async (_what, metadata) => {
    const body = large({ metadata });
    const object = { metadata: { ...stored("data", {}), ...metadata } } as Stored<KubeObject>;
    const answer = structuredClone(object);
    const kept = new KeptWrites(new FakeClock());
    expect(await cpuMsOf(() => kept.patch(object, body, async () => answer).catch(() => {}))).toBeLessThan(passMsMax);
  });
});
