import { describe, expect, it } from "vitest";
import type { ObjectMeta, Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aClaimed, aCondition, aSandboxClaim, aSpare } from "../../../test/support/builders/claim-builders.ts";
import { aPool } from "../../../test/support/builders/extension-builders.ts";
import { feedInformer } from "../../../test/support/fakes/fed-informer.ts";
import { AdoptionQueues } from "./adoption-queue.ts";
import { claimsAffectedBy, followStock } from "./sandbox-changes.ts";

const claim = aSandboxClaim();
const ready = aCondition({ type: "Ready", reason: "DependenciesNotReady" });
const suspended = aCondition({ type: "Suspended", reason: "NotSuspended" });
const bound = aClaimed(claim, {}, { conditions: [suspended, ready], podIPs: ["10.1.0.5"] });
const withStatus = (status: Sandbox["status"], metadata: Partial<ObjectMeta> = {}) =>
  aClaimed(claim, metadata, { ...bound.status, ...status });

describe("a claim", () => {
  const affected = (previous: Stored<Sandbox> | undefined, current: Stored<Sandbox> | undefined) =>
    claimsAffectedBy({ key: "lab/task", previous, current });

  it("is woken by a sandbox of its own that comes or goes", () => {
    expect(affected(undefined, bound)).toEqual(["lab/task"]);
    expect(affected(bound, undefined)).toEqual(["lab/task"]);
  });

  it.each([
    ["is about to go", withStatus({}, { deletionTimestamp: noon })],
    ["has another address", withStatus({ podIPs: ["10.1.0.6"] })],
    ["has none any more", withStatus({ podIPs: [] })],
    ["is ready", withStatus({ conditions: [{ ...ready, status: "True" }] })],
    ["has expired", withStatus({ conditions: [suspended, { ...ready, reason: "SandboxExpired" }] })],
    ["has ended", withStatus({ conditions: [...(bound.status?.conditions ?? []), aCondition({ type: "Finished" })] })],
  ])("is woken by a sandbox of its own that %s", (_case, current) => {
    expect(affected(bound, current)).toEqual(["lab/task"]);
  });

  it.each([
    ["has other labels", withStatus({}, { labels: {} })],
    ["is on another node", withStatus({ nodeName: "node-2" })],
    ["is suspended", withStatus({ conditions: [{ ...suspended, status: "True" }, ready] })],
    ["has its conditions in another order", withStatus({ conditions: [ready, suspended] })],
  ])("sleeps on when a sandbox of its own %s", (_case, current) => {
    expect(affected(bound, current)).toEqual([]);
  });

  it("is woken, and so is the other, when a sandbox changes hands", () => {
    const taken = aClaimed(aSandboxClaim({}, { name: "other" }), { name: "task" });
    expect(affected(bound, taken)).toEqual(["lab/task", "lab/other"]);
    expect(affected(aSpare(), bound)).toEqual(["lab/task"]);
  });

  it("sleeps on whatever happens to a sandbox of the pool", () => {
    expect(affected(undefined, aSpare())).toEqual([]);
    expect(affected(aSpare(), aSpare({ ready: false }))).toEqual([]);
  });
});

describe("the stock of a pool", () => {
  /** Reports these changes by an informer, and returns the entries of the queue of `warm`. */
  function stockAfter(...changes: readonly (Stored<Sandbox> | undefined)[]) {
    const { informer, feed } = feedInformer<Sandbox>({});
    const queues = new AdoptionQueues();
    const [first, ...others] = changes.map((sandbox, at) => sandbox && asVersion(sandbox, String(at)));
    if (first) feed.set(first);
    using _following = followStock(informer, queues);
    for (const sandbox of others) {
      if (sandbox) feed.set(sandbox);
      else void feed.replaceAll([]);
    }
    return { warm: queues.take("lab/warm"), other: queues.take("lab/other") };
  }
  const asVersion = (sandbox: Stored<Sandbox>, resourceVersion: string) => ({
    ...sandbox,
    metadata: { ...sandbox.metadata, resourceVersion },
  });
  const waits = (nodeName: string) => ({ warm: { key: "lab/warm-1", nodeName, turn: 1 }, other: undefined });
  const nothing = { warm: undefined, other: undefined };

  it("has the members that exist at the start, ready or not", () => {
    expect(stockAfter(aSpare({ ready: false }, { nodeName: "" }))).toEqual(waits(""));
  });

  it("gets new members, and records their nodes", () => {
    expect(stockAfter(undefined, aSpare({}, { nodeName: "" }), aSpare())).toEqual(waits("node-1"));
  });

  it("loses members that are deleted, terminate, or are given to a claim", () => {
    expect(stockAfter(aSpare(), undefined)).toEqual(nothing);
    expect(stockAfter(aSpare(), aSpare({ metadata: { deletionTimestamp: noon } }))).toEqual(nothing);
    expect(stockAfter(aSpare(), aClaimed(claim, { name: "warm-1" }))).toEqual(nothing);
  });

  it("moves a member that changes its pool", () => {
    const moved = aSpare({ pool: aPool({}, { name: "other" }) });
    expect(stockAfter(aSpare(), moved)).toMatchObject({ warm: undefined, other: { key: "lab/warm-1" } });
  });
});
