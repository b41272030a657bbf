import { describe, expect, it } from "vitest";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { aPool, aTemplate } from "../../../test/support/builders/extension-builders.ts";
import { feedInformer } from "../../../test/support/fakes/fed-informer.ts";
import { poolIndexes } from "../../warm-pool/start-warm-pool-controller.ts";
import { AdoptionQueues } from "./adoption-queue.ts";
import { claimIndexes, claimsOfPools, claimsOfTemplates } from "./pool-changes.ts";

const waiting = aSandboxClaim({}, { name: "waiting" });
const bound = aSandboxClaim({}, { name: "bound" }, { sandbox: { name: "warm-1" } });
const going = aSandboxClaim({}, { name: "going", deletionTimestamp: noon });
const elsewhere = aSandboxClaim({}, { name: "elsewhere", namespace: "other" });
const ofAnother = aSandboxClaim({ warmPoolRef: { name: "another" } }, { name: "of-another" });

/** Every kind of claim, the pool and the template of a namespace, and which claims are woken from now on. */
function open() {
  const claims = feedInformer<SandboxClaim, "pool">(claimIndexes);
  const pools = feedInformer<SandboxWarmPool, "template">(poolIndexes);
  const templates = feedInformer<SandboxTemplate>({});
  const queues = new AdoptionQueues();
  for (const claim of [waiting, bound, going, elsewhere, ofAnother]) claims.feed.set(claim);
  pools.feed.set(aPool({}, { generation: 1 }));
  const woken: string[] = [];
  const wake = (key: string) => void woken.push(key);
  claimsOfPools(pools.informer, claims.informer, queues)(wake);
  claimsOfTemplates(templates.informer, pools.informer, claims.informer)(wake);
  return { pools: pools.feed, templates: templates.feed, queues, woken };
}

const poolAt = (
  resourceVersion: string,
  generation: number,
  status?: SandboxWarmPool["status"],
): Stored<SandboxWarmPool> => aPool({}, { resourceVersion, generation }, status);

describe("a pool", () => {
  it("enqueues the claims that wait for it when its spec changes, and no bound ones", () => {
    const { pools, woken } = open();
    pools.set(poolAt("2", 2));
    expect(woken).toEqual([keyOf(waiting)]);
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
    expect(woken).toEqual([keyOf(waiting)]);
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
    expect(woken).toEqual([keyOf(waiting), keyOf(bound)]);
  });

  it("enqueues no claim when it changes or is deleted", () => {
    const { templates, woken } = open();
    templates.set(aTemplate());
    woken.length = 0;
    templates.set(aTemplate({}, { resourceVersion: "2" }));
    void templates.replaceAll([]);
    expect(woken).toEqual([]);
  });
});
