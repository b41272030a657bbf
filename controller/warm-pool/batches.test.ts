import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { launchTypeLabel } from "../../api/rules/keys.ts";
import { openFullPoolBench, openPoolBench, type PoolBench } from "../../test/support/labs/pool-bench.ts";

const minute = 60_000;
const recreate = { updateStrategy: { type: "Recreate" } } as const;
const newImage = { podTemplate: { spec: { containers: [{ name: "main", image: "busybox:new" }] } } };
const named = (name: string) => ({ namespace: "default", name });
const uidsOf = (members: readonly Stored<Sandbox>[]) => members.map(({ metadata }) => metadata.uid);
const deletionsOf = ({ client }: PoolBench) =>
  client.calls.filter(({ verb, kind }) => verb === "delete" && kind === "Sandbox").length;

describe("a batch of one reconcile", () => {
  it("bounds the deletions of stale members and the creations after them", async () => {
    await using bench = await openFullPoolBench(5, { pool: recreate, settings: { maxBatch: 2 } });
    const before = uidsOf(await bench.members());
    await bench.changeTemplate(newImage);
    for (let pass = 0; pass < 2; pass += 1) {
      await bench.refresh();
      bench.client.calls.length = 0;
      expect(await bench.reconcile()).toMatchObject({ requeueAfterMs: 1_000 });
      expect(bench.client.calls.filter(({ kind }) => kind === "Sandbox")).toHaveLength(2);
      expect((await bench.members()).length).toBeLessThanOrEqual(5);
    }
    await bench.settle();
    const after = uidsOf(await bench.members());
    expect(after).toHaveLength(5);
    expect(after.filter((uid) => before.includes(uid))).toEqual([]);
  });

  it("creates no member in the place of one that it deletes", async () => {
    await using bench = await openFullPoolBench(5, { pool: recreate });
    await bench.changeTemplate(newImage);
    await bench.refresh();
    bench.client.calls.length = 0;
    await bench.reconcile();
    const verbs = bench.client.calls.filter(({ kind }) => kind === "Sandbox").map(({ verb }) => verb);
    expect(verbs).toEqual(Array.from({ length: 5 }, () => "delete"));
  });

  it("bounds the deletions of stuck members, and the next batch does not wait for the longer grace", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 5 }, settings: { maxBatch: 2 } });
    await bench.settle();
    const before = uidsOf(await bench.members());
    await bench.clock.advance(5 * minute + 1_000);
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(3);
    await bench.settle();
    const after = uidsOf(await bench.members());
    expect(after).toHaveLength(5);
    expect(after.filter((uid) => before.includes(uid))).toEqual([]);
  });

  it("reads no more Pods of members that are not ready than it may replace, some at a time", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 70 }, settings: { maxBatch: 10 } });
    await bench.settle();
    await bench.clock.advance(5 * minute + 1_000);
    bench.client.calls.length = 0;
    await bench.reconcile();
    expect(bench.client.calls.filter(({ verb, kind }) => verb === "get" && kind === podType.kind)).toHaveLength(32);
    expect(deletionsOf(bench)).toBe(10);
  });

  it("reads no Pod that waits for a node, however many the pool has", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 70 } });
    await bench.settle();
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable" } as const];
    for (const member of await bench.members()) await bench.makePod(member, { phase: "Pending", conditions });
    await bench.refresh();
    await bench.clock.advance(6 * minute);
    bench.client.calls.length = 0;
    await bench.reconcile();
    expect(bench.client.calls).toEqual([]);
    expect(await bench.members()).toHaveLength(70);
  });

  it("bounds the patches of members that lack a label", async () => {
    await using bench = await openFullPoolBench(5, { settings: { maxBatch: 2 } });
    const body = { metadata: { labels: { [launchTypeLabel]: "cold" } } };
    for (const { metadata } of await bench.members()) {
      await bench.client.patch(sandboxType, named(metadata.name), { type: "merge", body });
    }
    await bench.refresh();
    bench.client.calls.length = 0;
    await bench.reconcile();
    expect(bench.client.calls.filter(({ verb, kind }) => verb === "patch" && kind === "Sandbox")).toHaveLength(2);
    await bench.settle();
    for (const { metadata } of await bench.members()) expect(metadata.labels?.[launchTypeLabel]).toBe("warm");
  });

  it("ends with the first refusal, and tries another member each time", async () => {
    await using bench = await openFullPoolBench(20, { pool: recreate });
    await bench.changeTemplate(newImage);
    await bench.refresh();
    const tried = new Set<string>();
    bench.client.failWith = ({ verb, name = "" }) =>
      verb === "delete" && tried.add(name) ? new Error("denied") : undefined;
    for (let pass = 1; pass <= 3; pass += 1) {
      await expect(bench.reconcile()).rejects.toThrow("denied");
      expect(deletionsOf(bench)).toBe(pass);
      expect(tried.size).toBe(pass);
    }
  });

  it("replaces all other members when the deletion of one is refused", async () => {
    await using bench = await openFullPoolBench(5, { pool: recreate });
    const [kept] = await bench.members();
    await bench.changeTemplate(newImage);
    bench.client.failWith = ({ verb, name }) =>
      verb === "delete" && name === kept?.metadata.name ? new Error("denied") : undefined;
    for (let pass = 0; pass < 4; pass += 1) {
      await bench.refresh();
      await bench.reconcile().catch(() => {});
    }
    const members = await bench.members();
    expect(members).toHaveLength(5);
    const old = members.filter(({ spec }) => spec.podTemplate.spec.containers[0]?.image !== "busybox:new");
    expect(uidsOf(old)).toEqual([kept?.metadata.uid]);
  });
});
