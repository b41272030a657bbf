import { describe, expect, it } from "vitest";
import { keyOf, type ObjectMeta, type Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../api/kinds/network-policy.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { controlledBy, noon } from "../../test/support/builders/builders.ts";
import { aTemplate } from "../../test/support/builders/extension-builders.ts";
import { feedInformer } from "../../test/support/fakes/fed-informer.ts";
import { LostPolicies } from "./lost-policies.ts";

const policyOf = (name: string, metadata: Partial<ObjectMeta> = {}): Stored<NetworkPolicy> => ({
  metadata: {
    name: `${name}-network-policy`,
    namespace: "lab",
    uid: `uid-of-${name}`,
    resourceVersion: "1",
    creationTimestamp: noon,
    ownerReferences: [{ ...controlledBy(aTemplate()), name }],
    ...metadata,
  },
  spec: { podSelector: { matchLabels: { name } } },
});

function openLost(...templates: readonly Stored<SandboxTemplate>[]) {
  const clock = new FakeClock();
  const { informer, feed } = feedInformer<NetworkPolicy>({});
  const lost = new LostPolicies(informer, { get: (key) => templates.find((each) => keyOf(each) === key) }, clock);
  const lose = (policy: Stored<NetworkPolicy>) => {
    feed.set(policy);
    feed.unset(policy);
  };
  return { clock, lost, lose };
}

describe("what is remembered of policies that are gone", () => {
  it("is what they said, until their template says it again", () => {
    const { lost, lose } = openLost();
    lose(policyOf("tpl"));
    expect(lost.get("lab/tpl")).toEqual(policyOf("tpl").spec);
    expect(lost.get("lab/other")).toBeUndefined();
    lost.forget("lab/tpl");
    expect(lost.get("lab/tpl")).toBeUndefined();
  });

  it("ignores policies that belong to no template or that their template no longer wants", () => {
    const { lost, lose } = openLost(aTemplate({ networkPolicyManagement: "Unmanaged" }));
    lose(policyOf("tpl"));
    lose(policyOf("own", { ownerReferences: [] }));
    lose(policyOf("other", { name: "renamed-network-policy" }));
    expect(lost.size).toBe(0);
  });

  it("is forgotten five minutes after it was last asked for", async () => {
    const { clock, lost, lose } = openLost();
    lose(policyOf("tpl"));
    for (let minute = 0; minute < 12; minute += 4) {
      await clock.advance(4 * 60_000);
      expect(lost.get("lab/tpl")).toBeDefined();
    }
    await clock.advance(5 * 60_000 + 1);
    expect(lost.get("lab/tpl")).toBeUndefined();
    expect(lost.size).toBe(0);
  });

  it("is forgotten also if nobody ever asks for it", async () => {
    const { clock, lost, lose } = openLost();
    lose(policyOf("tpl"));
    await clock.advance(3 * 60_000);
    lose(policyOf("late"));
    await clock.advance(3 * 60_000);
    expect(lost.size).toBe(1);
    await clock.advance(3 * 60_000);
    expect(lost.size).toBe(0);
  });

  it("has at most 32 MiB, of which the namespace with the largest policies loses its own", () => {
    const { lost, lose } = openLost();
    lose(policyOf("small", { namespace: "quiet" }));
    const large = (name: string): Stored<NetworkPolicy> => {
      const from = [{ podSelector: { matchLabels: { padding: "p".repeat(1_048_576) } } }];
      return { ...policyOf(name), spec: { podSelector: {}, ingress: [{ from }] } };
    };
    for (let number = 0; number < 40; number += 1) lose(large(`t-${number}`));
    expect(lost.size).toBe(32);
    expect(lost.has("quiet/small")).toBe(true);
    expect([lost.has("lab/t-8"), lost.has("lab/t-39")]).toEqual([false, true]);
    expect(lost.get("lab/t-39")).toEqual(large("t-39").spec);
  });

  it("is of 1000 policies at most, the latest", () => {
    const { lost, lose } = openLost();
    for (let number = 0; number < 1_200; number += 1) lose(policyOf(`t-${number}`));
    expect(lost.size).toBe(1_000);
    expect(lost.get("lab/t-199")).toBeUndefined();
    expect(lost.get("lab/t-1199")).toBeDefined();
  });

  it("is not forgotten for the policies of another namespace", () => {
    const { lost, lose } = openLost();
    for (const name of ["old", "new"]) lose(policyOf(name, { namespace: "quiet" }));
    for (let number = 0; number < 1_200; number += 1) lose(policyOf(`t-${number}`));
    expect(lost.size).toBe(1_000);
    expect([lost.get("quiet/old"), lost.get("quiet/new")]).not.toContain(undefined);
    expect(lost.get("lab/t-201")).toBeUndefined();
    expect(lost.get("lab/t-202")).toBeDefined();
  });
});
