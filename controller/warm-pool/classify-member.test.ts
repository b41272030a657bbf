import { describe, expect, it } from "vitest";
import type { ObjectMeta, Stored } from "../../api/kinds/meta.ts";
import type { Pod, PodCondition } from "../../api/kinds/pod.ts";
import type { PoolUpdateStrategy } from "../../api/kinds/sandbox-warm-pool.ts";
import { launchTypeLabel, templateHashLabel, templateRefHashLabel } from "../../api/rules/keys.ts";
import { aPodOf, controlledBy, noon, someoneElse } from "../../test/support/builders/builders.ts";
import {
  aMember,
  aPool,
  aTemplate,
  relabelled,
  templatePodSpec,
} from "../../test/support/builders/extension-builders.ts";
import { currentBlueprint } from "../blueprint/current-blueprint.ts";
import { classifyMember } from "./classify-member.ts";
import type { Observed } from "./observed.ts";

const minute = 60_000;
const template = aTemplate();
const known = { object: template, blueprint: currentBlueprint(template) };
const changed = aTemplate({ podTemplate: { spec: { ...templatePodSpec, hostname: "new" } } });
const changedSince = { object: changed, blueprint: currentBlueprint(changed) };
const withStrategy = (type: PoolUpdateStrategy) => aPool({ updateStrategy: { type } });
const active = { is: "active", held: false };

const observed = (seen: Partial<Observed> = {}): Observed => ({
  now: new Date(noon),
  pool: aPool(),
  template: known,
  policyGap: undefined,
  labelled: [],
  snapshot: { owner: "uid-of-warm", satisfied: true, pendingCreations: 0, raises: 0 },
  pendingDeletions: new Set(),
  pods: new Map(),
  agesMs: new Map(),
  readinessGraceMs: () => 5 * minute,
  ...seen,
});
/** The member was first seen so long ago. */
const later = (ms: number, seen: Partial<Observed> = {}) =>
  observed({ agesMs: new Map([[aMember().metadata.uid, ms]]), ...seen });
const ready = (metadata: Partial<ObjectMeta> = {}) => aMember({ metadata, ready: true });

describe("a sandbox with the label of a pool", () => {
  it("is active when it is ready", () => {
    expect(classifyMember(ready(), observed())).toEqual(active);
  });

  it("is not counted when another owner controls it", () => {
    expect(classifyMember(ready({ ownerReferences: [someoneElse] }), observed())).toEqual({ is: "uncounted" });
  });

  it("is not counted when a pool controls it that had the same name", () => {
    const earlier = { ...controlledBy(aPool()), uid: "uid-of-earlier" };
    expect(classifyMember(ready({ ownerReferences: [earlier] }), observed())).toEqual({ is: "uncounted" });
  });

  it("is terminating from the moment on at which it was deleted", () => {
    const deleted = ready({ deletionTimestamp: noon });
    expect(classifyMember(deleted, observed())).toEqual({ is: "terminating" });
    const { uid } = ready().metadata;
    expect(classifyMember(ready(), observed({ pendingDeletions: new Set([uid]) }))).toEqual({ is: "terminating" });
    expect(classifyMember(ready({ deletionTimestamp: noon, ownerReferences: [] }), observed())).toEqual({
      is: "uncounted",
    });
  });

  it("belongs to the pool whatever version its owner reference names", () => {
    const reference = { ...controlledBy(aPool()), apiVersion: "extensions.agents.x-k8s.io/v1alpha1" };
    expect(classifyMember(ready({ ownerReferences: [reference] }), observed())).toEqual(active);
  });

  it("is given the word that it is warm when it lacks it", () => {
    const labels = relabelled(aMember(), { [launchTypeLabel]: undefined });
    expect(classifyMember(ready({ labels }), observed())).toEqual({ ...active, lacks: "launchType" });
  });
});

describe("a sandbox with the label of a pool and without an owner", () => {
  const orphan = (metadata: Partial<ObjectMeta> = {}) => ready({ ownerReferences: [], ...metadata });

  it("is taken in when it is as the template wants it", () => {
    expect(classifyMember(orphan(), observed())).toEqual({ ...active, lacks: "owner" });
  });

  it("is stale when it is not, whatever its hash and the pool's strategy", () => {
    const labels = relabelled(aMember(), { [templateHashLabel]: changedSince.blueprint.blueprintHash });
    expect(classifyMember(orphan({ labels }), observed({ template: changedSince }))).toEqual({ is: "stale" });
  });

  it("is stale when it comes from another template, or from none", () => {
    const labels = relabelled(aMember(), { [templateRefHashLabel]: undefined });
    expect(classifyMember(orphan({ labels }), observed())).toEqual({ is: "stale" });
  });
});

describe("a member that the template would not make any more", () => {
  it("is stale in a pool that recreates", () => {
    const pool = withStrategy("Recreate");
    expect(classifyMember(ready(), observed({ pool, template: changedSince }))).toEqual({ is: "stale" });
    expect(classifyMember(ready(), observed({ pool }))).toEqual(active);
  });

  it.each([
    ["waits to be taken", withStrategy("OnReplenish")],
    ["waits to be taken in a pool without a strategy", aPool()],
    ["waits to be taken in a pool with an empty one", aPool({ updateStrategy: JSON.parse('{"type": ""}') })],
  ])("%s", (_, pool) => {
    expect(classifyMember(ready(), observed({ pool, template: changedSince }))).toEqual(active);
  });

  it("stays while there is no template to compare it with", () => {
    expect(classifyMember(ready(), observed({ pool: withStrategy("Recreate"), template: undefined }))).toEqual(active);
  });
});

describe("a member that is not ready", () => {
  const member = aMember();
  const withPod = (pod: Stored<Pod> | undefined): Partial<Observed> => ({
    pods: new Map([[member.metadata.uid, pod]]),
  });
  const podWith = (condition: Partial<PodCondition>, metadata: Partial<ObjectMeta> = {}) =>
    aPodOf(member, metadata, {
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", ...condition }],
    });

  it("has five minutes, and is checked two seconds after they are over", () => {
    expect(classifyMember(member, later(3 * minute))).toEqual({ ...active, overdueInMs: 2 * minute + 2_000 });
    expect(classifyMember(member, later(5 * minute))).toEqual({ ...active, overdueInMs: 2_000 });
  });

  it("has the time that was set", () => {
    expect(classifyMember(member, later(9_000, { readinessGraceMs: () => 10_000 }))).toEqual({
      ...active,
      overdueInMs: 3_000,
    });
    expect(classifyMember(member, later(11_000, { readinessGraceMs: () => 10_000 }))).toEqual({ is: "overdue" });
  });

  it("is overdue after that, until it is known what its Pod waits for", () => {
    expect(classifyMember(member, later(5 * minute + 1))).toEqual({ is: "overdue" });
  });

  it.each<[string, Stored<Pod> | undefined]>([
    ["its Pod is missing", undefined],
    ["its Pod has a node", podWith({ status: "True" })],
    ["its Pod waits for something else", podWith({ reason: "SchedulerError" })],
    ["its Pod says nothing", aPodOf(member)],
    ["its Pod is on its way out", podWith({}, { deletionTimestamp: noon })],
  ])("is stuck when it is overdue and %s", (_, pod) => {
    expect(classifyMember(member, later(6 * minute, withPod(pod)))).toEqual({ is: "stuck" });
  });

  it.each(["Unschedulable", "SchedulingGated"])("is held while its Pod is %s", (reason) => {
    expect(classifyMember(member, later(6 * minute, withPod(podWith({ reason }))))).toEqual({ ...active, held: true });
  });

  it("is as good as any other once it is ready, however long that took", () => {
    expect(classifyMember(ready(), later(60 * minute))).toEqual(active);
  });
});
