import { describe, expect, it } from "vitest";
import { type Condition, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../../api/kinds/network-policy.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { aPool, aTemplate } from "../../../test/support/builders/extension-builders.ts";
import { feedInformer } from "../../../test/support/fakes/fed-informer.ts";
import { makeNetworkPolicy } from "../../template/make-network-policy.ts";
import { poolIndexes } from "../../warm-pool/start-warm-pool-controller.ts";
import { AdoptionQueues } from "./adoption-queue.ts";
import { claimIndexes, claimsOfPolicies, claimsOfPools, claimsOfTemplates } from "./pool-changes.ts";

const waiting = aSandboxClaim({}, { name: "waiting" });
const bound = aSandboxClaim({}, { name: "bound" }, { sandbox: { name: "warm-1" } });
const refused: Condition = {
  ...{ type: "Ready", status: "False", reason: "EnvVarsInjectionRejected" },
  ...{ message: "", lastTransitionTime: noon },
};
/** Its Sandbox is gone, and it cannot get another one. */
const bereft = aSandboxClaim({}, { name: "bereft" }, { sandbox: { name: "warm-2" }, conditions: [refused] });
const going = aSandboxClaim({}, { name: "going", deletionTimestamp: noon });
const elsewhere = aSandboxClaim({}, { name: "elsewhere", namespace: "other" });
const ofAnother = aSandboxClaim({ warmPoolRef: { name: "another" } }, { name: "of-another" });

/** Every kind of claim, the pool and the template of a namespace, and which claims are woken from now on. */
function open() {
  const claims = feedInformer<SandboxClaim, "pool">(claimIndexes);
  const pools = feedInformer<SandboxWarmPool, "template">(poolIndexes);
  const templates = feedInformer<SandboxTemplate>({});
  const policies = feedInformer<NetworkPolicy>({});
  const queues = new AdoptionQueues();
  for (const claim of [waiting, bound, bereft, going, elsewhere, ofAnother]) claims.feed.set(claim);
  pools.feed.set(aPool({}, { generation: 1 }));
  const woken: string[] = [];
  const wake = (key: string) => void woken.push(key);
  claimsOfPools(pools.informer, claims.informer, queues)(wake);
  claimsOfTemplates(templates.informer, pools.informer, claims.informer)(wake);
  claimsOfPolicies(policies.informer, pools.informer, claims.informer)(wake);
  return { pools: pools.feed, templates: templates.feed, policies: policies.feed, queues, woken };
}

function openWithTemplate() {
  const opened = open();
  opened.templates.set(aTemplate({}, { generation: 1 }));
  opened.woken.length = 0;
  return opened;
}

const poolAt = (
  resourceVersion: string,
  generation: number,
  status?: SandboxWarmPool["status"],
): Stored<SandboxWarmPool> => aPool({}, { resourceVersion, generation }, status);

describe("a pool", () => {
  it("enqueues the claims that are not served when its spec changes, and no others", () => {
    const { pools, woken } = open();
    pools.set(poolAt("2", 2));
    expect(woken).toEqual([keyOf(waiting), keyOf(bereft)]);
  });

  it("enqueues no claim for a change of its status", () => {
    const { pools, woken } = open();
    pools.set(poolAt("2", 1, { readyReplicas: 3 }));
    expect(woken).toEqual([]);
  });

  it("wakes the claims that wait for it when it goes, and has no stock then", () => {
    const { pools, queues, woken } = open();
    queues.add("lab/warm", { key: "lab/warm-1", nodeName: "" });
    void pools.replaceAll([]);
    expect(woken).toEqual([keyOf(waiting), keyOf(bereft)]);
    expect(queues.size("lab/warm")).toBe(0);
  });

  it("wakes the claims that wait for it when it comes", () => {
    const { pools, woken } = open();
    pools.set(aPool({}, { name: "another" }));
    expect(woken).toEqual([keyOf(ofAnother)]);
  });
});

describe("a template", () => {
  it("wakes every claim of its pools when it comes, bound or not, each once", () => {
    const { templates, woken } = open();
    templates.set(aTemplate());
    expect(woken).toEqual([keyOf(waiting), keyOf(bound), keyOf(bereft)]);
  });

  it("wakes the claims that are not served when its spec changes: it may allow what they ask for", () => {
    const { templates, woken } = openWithTemplate();
    templates.set(aTemplate({}, { resourceVersion: "2", generation: 2 }));
    expect(woken).toEqual([keyOf(waiting), keyOf(bereft)]);
  });

  it("wakes every claim when another template takes its name", () => {
    const { templates, woken } = openWithTemplate();
    templates.set(aTemplate({}, { uid: "another", resourceVersion: "9", generation: 1 }));
    expect(woken).toEqual([keyOf(waiting), keyOf(bound), keyOf(bereft)]);
  });

  it("wakes no claim when only its metadata changes, or when it is deleted", () => {
    const { templates, woken } = openWithTemplate();
    templates.set(aTemplate({}, { resourceVersion: "2", generation: 1 }));
    void templates.replaceAll([]);
    expect(woken).toEqual([]);
  });

  it("wakes the claims that are not served when its NetworkPolicy comes", () => {
    const { policies, woken } = openWithTemplate();
    const made = makeNetworkPolicy(aTemplate());
    const stored = { uid: "p", resourceVersion: "1", creationTimestamp: noon, name: made.metadata.name ?? "" };
    policies.set({ ...made, metadata: { ...made.metadata, ...stored } });
    expect(woken).toEqual([keyOf(waiting), keyOf(bereft)]);
  });
});
