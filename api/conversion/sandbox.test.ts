import { describe, expect, it } from "vitest";
import { aBetaSandbox, anAlphaSandbox, core } from "../../test/support/builders/versions.ts";
import type { Sandbox } from "../kinds/sandbox.ts";
import { v1alpha1StateAnnotations } from "../rules/keys.ts";
import { allKinds, convert } from "./convert.ts";
import type { SandboxV1alpha1 } from "./v1alpha1.ts";

const stateKey = v1alpha1StateAnnotations.Sandbox;
const toBeta = (sandbox: SandboxV1alpha1) => convert(sandbox, core.beta) as Sandbox;
const toAlpha = (sandbox: Sandbox) => convert(sandbox, core.alpha) as SandboxV1alpha1;
const stateOf = ({ metadata }: Sandbox) => JSON.parse(metadata.annotations?.[stateKey] ?? "");
const edited = (sandbox: Sandbox, spec: Partial<Sandbox["spec"]>): Sandbox => ({
  ...sandbox,
  spec: { ...sandbox.spec, ...spec },
});

describe("a v1alpha1 Sandbox", () => {
  it.each([
    { replicas: undefined, mode: "Running" },
    { replicas: 1, mode: "Running" },
    { replicas: 0, mode: "Suspended" },
  ])("with replicas $replicas is $mode, and comes back as it was", ({ replicas, mode }) => {
    const original = anAlphaSandbox(replicas === undefined ? {} : { replicas }, { replicas: 1, service: "nova" });
    const converted = toBeta(original);
    expect(converted.spec.operatingMode).toBe(mode);
    expect(converted.spec).not.toHaveProperty("replicas");
    expect(converted.status).toEqual({ service: "nova" });
    expect(toAlpha(converted)).toEqual(original);
  });

  it("without a status comes back without one", () => {
    const original = anAlphaSandbox({ replicas: 1 });
    expect(toBeta(original)).not.toHaveProperty("status");
    expect(toAlpha(toBeta(original))).toEqual(original);
  });

  it("is asleep after it was suspended through v1beta1", () => {
    const asleep = edited(toBeta(anAlphaSandbox({ replicas: 1 })), { operatingMode: "Suspended" });
    expect(toAlpha(asleep).spec?.replicas).toBe(0);
  });

  it.each([{ replicas: 0 }, { replicas: 1 }, {}])("runs after it was resumed, written with %o", (spec) => {
    const awake = edited(toBeta(anAlphaSandbox(spec)), { operatingMode: "Running" });
    expect(toAlpha(awake).spec?.replicas ?? 1).toBe(1);
  });

  it("has in its state only the fields that v1beta1 lacks, not the state that it was read with", () => {
    const original = anAlphaSandbox({ replicas: 0 }, { replicas: 1 }, { [stateKey]: '{"spec":{}}', team: "red" });
    const before = structuredClone(original);
    const converted = toBeta(original);
    expect(stateOf(converted)).toEqual({ spec: { replicas: 0 }, status: { replicas: 1 } });
    expect(converted.metadata.annotations).toMatchObject({ team: "red" });
    expect(original).toEqual(before);
  });

  it("has the mode that its replicas mean where its annotations leave no room for them", () => {
    const team = "r".repeat(262_144 - "team".length);
    const ignored: string[] = [];
    const converted = convert(anAlphaSandbox({}, { replicas: 0 }, { team }), core.beta, allKinds, ignored) as Sandbox;
    expect(converted.spec.operatingMode).toBe("Running");
    expect(converted.metadata.annotations).toEqual({ team });
    expect(ignored).toEqual([expect.stringMatching(`^Sandbox lab/nova: annotation ${stateKey} is left out`)]);
    expect(toAlpha(converted).spec?.replicas).toBe(1);
  });

  it("keeps every field that both versions have, ours too", () => {
    const shared = {
      volumeClaimTemplates: [],
      service: false,
      shutdownTime: "2027-01-01T00:00:00Z",
      shutdownPolicy: "Delete",
      autoSuspension: {
        inactivityTimeoutSeconds: 60,
        unansweredLimitSeconds: 0,
        ignoreRequests: [{ pathPrefix: "/healthz" }],
      },
      autoResume: { trigger: "Never", allowFrom: "Any" },
      suspensionStrategy: { type: "Hibernate", onFailure: "StayAwake", timeoutSeconds: 5 },
    } as const;
    const status = {
      serviceFQDN: "nova.lab.svc.cluster.local",
      conditions: [],
      selector: "a=b",
      podIPs: ["10.0.0.1"],
      lastActivityTime: "2026-01-01T00:00:00Z",
      nextSuspensionTime: "2026-01-01T00:01:00Z",
      hibernation: {
        state: "Stopped",
        reason: "NoProvider",
        lastWake: { mode: "Anew", podUID: "p1", reason: "NoProvider" },
      },
    } as const;
    const converted = toBeta(anAlphaSandbox(shared, status));
    expect(converted.spec).toMatchObject(shared);
    expect(converted.status).toEqual(status);
    expect(toAlpha(aBetaSandbox(shared, status))).toMatchObject({ spec: shared, status });
  });
});

describe("a v1beta1 Sandbox", () => {
  it.each([
    { mode: "Running", replicas: 1 },
    { mode: "Suspended", replicas: 0 },
    { mode: "", replicas: 1 },
    { mode: undefined, replicas: 1 },
  ])("in mode '$mode' has replicas $replicas in v1alpha1", ({ mode, replicas }) => {
    // An older writer may have stored an empty string.
    const spec = mode === undefined ? {} : { operatingMode: mode as "Running" };
    const converted = toAlpha(aBetaSandbox(spec));
    expect(converted.spec?.replicas).toBe(replicas);
    expect(converted.spec).not.toHaveProperty("operatingMode");
    expect(converted.status).toEqual({ replicas });
  });

  it("leaves out the name of its node, which v1alpha1 has no field for", () => {
    expect(toAlpha(aBetaSandbox({}, { nodeName: "node-1" })).status).toEqual({ replicas: 1 });
  });

  it("with an empty mode runs, for any original replicas", () => {
    const emptied = edited(toBeta(anAlphaSandbox({ replicas: 0 })), { operatingMode: "" as "Running" });
    expect(toAlpha(emptied).spec?.replicas).toBe(1);
  });

  it.each([
    "{",
    '"text"',
    "null",
    '{"spec":5}',
    '{"spec":{"replicas":"many"}}',
    '{"spec":{"replicas":1.5}}',
    '{"spec":{"replicas":-3}}',
    '{"spec":{"replicas":2147483648}}',
    '{"status":{"replicas":1e300}}',
    `{"spec":{"replicas":1}}${" ".repeat(262_144)}`,
  ])("with the state %.30s follows its v1beta1 fields, and the state is reported", (state) => {
    const sandbox = aBetaSandbox({ operatingMode: "Suspended" });
    const metadata = { ...sandbox.metadata, annotations: { [stateKey]: state } };
    const ignored: string[] = [];
    expect(convert({ ...sandbox, metadata }, core.alpha, allKinds, ignored)).toEqual(toAlpha(sandbox));
    expect(ignored).toEqual([expect.stringContaining(`Sandbox lab/nova: annotation ${stateKey} cannot be read: `)]);
  });
});
