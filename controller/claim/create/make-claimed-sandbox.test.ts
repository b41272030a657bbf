import { describe, expect, it } from "vitest";
import type { SandboxClaimSpec } from "../../../api/kinds/sandbox-claim.ts";
import {
  claimUidLabel,
  createdByLabel,
  launchTypeLabel,
  podNameAnnotation,
  templateRefAnnotation,
  templateRefHashLabel,
  traceContextAnnotation,
} from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { controlledBy } from "../../../test/support/builders/builders.ts";
import { aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { aTemplate, templatePodSpec } from "../../../test/support/builders/extension-builders.ts";
import { makeClaimedSandbox } from "./make-claimed-sandbox.ts";

const volume = { metadata: { name: "data" }, spec: {} };
const messages = (spec: Partial<SandboxClaimSpec>) => {
  const template = aTemplate({
    podTemplate: { metadata: { labels: { "sandbox.users.io/x": "1" } }, spec: templatePodSpec },
  });
  return () => makeClaimedSandbox(template, aSandboxClaim(spec));
};

describe("a sandbox that is made for a claim", () => {
  it("has the claim's name and owner, the spec of its template, and the secure defaults", () => {
    const claim = aSandboxClaim(
      {},
      { labels: { [createdByLabel]: "somebody" }, annotations: { [traceContextAnnotation]: "{}" } },
    );
    const owned = { [claimUidLabel]: claim.metadata.uid, [createdByLabel]: "somebody" };
    expect(makeClaimedSandbox(aTemplate({ service: true }), claim)).toEqual({
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: {
        name: "task",
        namespace: "lab",
        labels: { ...owned, [launchTypeLabel]: "cold", [templateRefHashLabel]: nameHash("tpl") },
        annotations: { [templateRefAnnotation]: "tpl", [podNameAnnotation]: "task", [traceContextAnnotation]: "{}" },
        ownerReferences: [controlledBy(claim)],
      },
      spec: {
        podTemplate: {
          metadata: { labels: { ...owned, [templateRefHashLabel]: nameHash("tpl") } },
          spec: {
            ...templatePodSpec,
            automountServiceAccountToken: false,
            dnsPolicy: "None",
            dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] },
          },
        },
        service: true,
      },
    });
  });

  it("has the claim's additions to the Pod's metadata", () => {
    const added = { labels: { "sandbox.users.io/x": "1" }, annotations: { note: "2" } };
    const { spec } = makeClaimedSandbox(aTemplate(), aSandboxClaim({ additionalPodMetadata: added }));
    expect(spec.podTemplate.metadata).toMatchObject(added);
  });

  it("has the claim's variables and volumes where the template allows it", () => {
    const template = aTemplate({ envVarsInjectionPolicy: "Allowed", volumeClaimTemplatesPolicy: "Allowed" });
    const claim = aSandboxClaim({ env: [{ name: "KEY", value: "1" }], volumeClaimTemplates: [volume] });
    const { spec } = makeClaimedSandbox(template, claim);
    expect(spec.podTemplate.spec.containers[0]?.env).toEqual([{ name: "KEY", value: "1" }]);
    expect(spec.volumeClaimTemplates).toEqual([volume]);
  });

  it("is suspended and resumed as its template says", () => {
    const suspensionStrategy = { type: "Hibernate", onFailure: "StayAwake" } as const;
    const times = { autoSuspension: { inactivityTimeoutSeconds: 60 }, autoResume: { timeoutSeconds: 9 } };
    const auto = { ...times, suspensionStrategy };
    expect(makeClaimedSandbox(aTemplate(auto), aSandboxClaim()).spec).toMatchObject(auto);
  });

  it("is refused for its volumes first, then for its metadata, then for its variables", () => {
    const env = [{ name: "KEY", value: "1" }];
    const additionalPodMetadata = { labels: { "sandbox.users.io/x": "2" } };
    expect(messages({ volumeClaimTemplates: [volume], additionalPodMetadata, env })).toThrow("volumeClaimTemplates");
    expect(messages({ additionalPodMetadata, env })).toThrow("may not be overridden");
    expect(messages({ env })).toThrow("variables");
  });
});

describe("the name of a sandbox that is made for a claim", () => {
  const nameFor = (name: string, uid = "4f1c") =>
    makeClaimedSandbox(aTemplate(), aSandboxClaim({}, { name, uid })).metadata.name;

  it.each([
    ["team.task-7", `team-task-7-${nameHash("4f1c")}`],
    ["n".repeat(80), `${"n".repeat(54)}-${nameHash("4f1c")}`],
  ])("for %s is a DNS label: %s", (claim, sandbox) => {
    expect(nameFor(claim)).toBe(sandbox);
    expect(nameFor(claim)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    expect(nameFor(claim)?.length).toBeLessThanOrEqual(63);
  });

  it("is the claim's own where that will do", () => {
    expect([nameFor("task"), nameFor("n".repeat(63))]).toEqual(["task", "n".repeat(63)]);
  });

  it("does not end in a dash before its hash, and differs between claims of one name", () => {
    expect(nameFor(`${"n".repeat(53)}.x${"y".repeat(20)}`)).toBe(`${"n".repeat(53)}-${nameHash("4f1c")}`);
    expect(nameFor("team.task", "a")).not.toBe(nameFor("team.task", "b"));
  });
});
