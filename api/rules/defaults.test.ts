import { describe, expect, it } from "vitest";
import {
  effectiveAutoResume,
  effectiveAutoSuspension,
  effectiveClaimShutdownPolicy,
  effectiveEnvVarsInjectionPolicy,
  effectiveNetworkPolicyManagement,
  effectiveOperatingMode,
  effectivePoolReplicas,
  effectiveShutdownPolicy,
  effectiveSuspensionStrategy,
  effectiveUpdateStrategy,
  effectiveVolumeClaimTemplatesPolicy,
  usesAutoFields,
} from "./defaults.ts";

/** An object as it may be stored, possibly against its type. */
const stored = (text: string) => JSON.parse(text);

describe("a sandbox without autoSuspension and autoResume", () => {
  it("never sleeps by itself, and a connection wakes it", () => {
    expect(effectiveAutoSuspension({})).toEqual({
      inactivityTimeoutSeconds: undefined,
      openConnections: "Data",
      drainTimeoutSeconds: 30,
      keepAwakeUntil: undefined,
      busyProbe: undefined,
      ignoreRequests: [],
      unansweredLimitSeconds: 3600,
    });
    expect(effectiveAutoResume({})).toEqual({
      trigger: "Connection",
      timeoutSeconds: 120,
      readiness: "Auto",
      allowFrom: "Namespace",
      waitPage: "Browser",
    });
  });

  it("uses no field of ours, unlike a sandbox with an empty autoResume", () => {
    expect(usesAutoFields({})).toBe(false);
    expect(usesAutoFields({ autoResume: {} })).toBe(true);
    expect(usesAutoFields({ autoSuspension: {} })).toBe(true);
  });
});

describe("suspensionStrategy", () => {
  it.each([
    { spec: "{}", means: { type: "Stop", onFailure: "Stop", timeoutSeconds: 60 } },
    { spec: '{"suspensionStrategy": {}}', means: { type: "Stop", onFailure: "Stop", timeoutSeconds: 60 } },
    {
      spec: '{"suspensionStrategy": {"type": "", "onFailure": "", "timeoutSeconds": 5}}',
      means: { type: "Stop", onFailure: "Stop", timeoutSeconds: 5 },
    },
    {
      spec: '{"suspensionStrategy": {"type": "Hibernate", "onFailure": "StayAwake"}}',
      means: { type: "Hibernate", onFailure: "StayAwake", timeoutSeconds: 60 },
    },
  ])("of $spec means $means.type, and $means.onFailure on failure", ({ spec, means }) => {
    expect(effectiveSuspensionStrategy(stored(spec))).toEqual(means);
  });

  it("alone does not make the Service of a sandbox lead to the activators", () => {
    expect(usesAutoFields(stored('{"suspensionStrategy": {"type": "Hibernate"}}'))).toBe(false);
  });
});

describe("the settings of a sandbox", () => {
  it("is kept, and only the rest is filled in", () => {
    const httpGet = { port: 80, path: "/busy" };
    const zeroes = { drainTimeoutSeconds: 0, unansweredLimitSeconds: 0 };
    const autoSuspension = { inactivityTimeoutSeconds: 60, ...zeroes, busyProbe: { httpGet } };
    expect(effectiveAutoSuspension({ autoSuspension })).toMatchObject({
      inactivityTimeoutSeconds: 60,
      ...zeroes,
      openConnections: "Data",
      busyProbe: { httpGet, limitSeconds: 3600 },
    });
    expect(effectiveAutoResume({ autoResume: { trigger: "Never" } })).toMatchObject({
      trigger: "Never",
      timeoutSeconds: 120,
    });
  });

  it("means the default where it is an empty string", () => {
    const spec = stored(
      '{"autoResume": {"readiness": ""}, "autoSuspension": {"openConnections": "", "keepAwakeUntil": ""}}',
    );
    expect(effectiveAutoResume(spec).readiness).toBe("Auto");
    expect(effectiveAutoSuspension(spec)).toMatchObject({ openConnections: "Data", keepAwakeUntil: undefined });
  });
});

describe("a field that is empty although the schema has a default for it", () => {
  it.each([
    { spec: '{"operatingMode": ""}', read: effectiveOperatingMode, means: "Running" },
    { spec: '{"operatingMode": "Suspended"}', read: effectiveOperatingMode, means: "Suspended" },
    { spec: '{"shutdownPolicy": ""}', read: effectiveShutdownPolicy, means: "Retain" },
    { spec: '{"shutdownPolicy": ""}', read: effectiveClaimShutdownPolicy, means: "Retain" },
    { spec: '{"networkPolicyManagement": ""}', read: effectiveNetworkPolicyManagement, means: "Managed" },
    { spec: '{"envVarsInjectionPolicy": ""}', read: effectiveEnvVarsInjectionPolicy, means: "Disallowed" },
    { spec: '{"volumeClaimTemplatesPolicy": ""}', read: effectiveVolumeClaimTemplatesPolicy, means: "Disallowed" },
    { spec: '{"updateStrategy": {"type": ""}}', read: effectiveUpdateStrategy, means: "OnReplenish" },
    { spec: '{"updateStrategy": {"type": "Unheard"}}', read: effectiveUpdateStrategy, means: "OnReplenish" },
    { spec: '{"updateStrategy": {"type": "Recreate"}}', read: effectiveUpdateStrategy, means: "Recreate" },
    { spec: "{}", read: effectivePoolReplicas, means: 1 },
    { spec: '{"replicas": 0}', read: effectivePoolReplicas, means: 0 },
  ])("$spec is read as $means", ({ spec, read, means }) => {
    expect(read(stored(spec))).toBe(means);
  });
});
