import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { controllerOf, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { launchTypeLabel } from "../../api/rules/keys.ts";
import { ApiError } from "../../kube/client/errors.ts";
import type { RecordedCall } from "../../test/support/fakes/recording-client.ts";
import { openFullPoolBench, openPoolBench, type PoolBench } from "../../test/support/labs/pool-bench.ts";

const minute = 60_000;
const image = (tag: string) => ({ podTemplate: { spec: { containers: [{ name: "main", image: `busybox:${tag}` }] } } });
const nameOf = ({ metadata }: Stored<Sandbox>) => metadata.name;
const named = (name: string) => ({ namespace: "default", name });
const refused = (code: number, reason: string) =>
  new ApiError(code, { apiVersion: "v1", kind: "Status", code, reason, message: `said ${reason}` });
const isCall = (verb: RecordedCall["verb"], kind: string) => (call: RecordedCall) =>
  call.verb === verb && call.kind === kind;

/** Fails every call like this, or only those that `which` names by their number, beginning with 0. */
function fail(bench: PoolBench, matches: (call: RecordedCall) => boolean, error: Error, which = (_: number) => true) {
  let count = -1;
  bench.client.failWith = (call) => (matches(call) && which(++count) ? error : undefined);
}

async function first(bench: PoolBench): Promise<Stored<Sandbox>> {
  const [member] = await bench.members();
  if (!member) throw new Error("the pool has no member");
  return member;
}

describe("a pool whose watch has stopped", () => {
  it("makes its members once, however long that takes, and goes on when the watch does", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 3 } });
    for (let passes = 0; passes < 40; passes += 1) {
      await bench.reconcile();
      await bench.clock.advance(minute);
    }
    expect(await bench.members()).toHaveLength(3);
    await bench.changePool({ replicas: 5 });
    await bench.settle();
    expect(await bench.members()).toHaveLength(5);
  });

  it("makes again what came and went in that time", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 2 } });
    await bench.reconcile();
    const gone = await first(bench);
    await bench.client.delete(sandboxType, named(nameOf(gone)));
    await bench.clock.advance(6 * minute);
    await bench.settle();
    expect(await bench.members()).toHaveLength(2);
  });
});

describe("a pool that is behind", () => {
  it("is filled, reports its size, and then costs no call", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 3 } });
    await bench.settle();
    expect(await bench.members()).toHaveLength(3);
    expect((await bench.pool()).status).toMatchObject({ replicas: 3, readyReplicas: 0, observedGeneration: 1 });
    for (const member of await bench.members()) await bench.makeReady(member);
    await bench.settle();
    expect((await bench.pool()).status).toMatchObject({ replicas: 3, readyReplicas: 3 });
    bench.client.calls.length = 0;
    await bench.refresh();
    expect(await bench.reconcile()).toEqual({});
    expect(bench.client.calls).toEqual([]);
  });

  it("gives up all its members when none are wanted, and says zero", async () => {
    await using bench = await openFullPoolBench(3);
    await bench.changePool({ replicas: 0 });
    await bench.settle();
    expect(await bench.members()).toEqual([]);
    expect((await bench.pool()).status).toMatchObject({ replicas: 0, readyReplicas: 0, observedGeneration: 2 });
  });

  it("without a template neither grows nor loses anything, and its status goes on", async () => {
    await using bench = await openFullPoolBench(2, { pool: { updateStrategy: { type: "Recreate" } } });
    await bench.changePool({ replicas: 4, sandboxTemplateRef: { name: "nowhere" } });
    await bench.settle();
    expect(await bench.members()).toHaveLength(2);
    expect((await bench.pool()).status).toMatchObject({ replicas: 2, observedGeneration: 2 });
    expect(bench.happenings.map(({ reason }) => reason)).toEqual(["WarmPoolNotProgressing"]);
    await bench.changePool({ sandboxTemplateRef: { name: "tpl" } });
    await bench.settle();
    expect(await bench.members()).toHaveLength(4);
    expect(bench.happenings.map(({ reason }) => reason)).toEqual(["WarmPoolNotProgressing", "WarmPoolProgressing"]);
  });

  it("takes in an orphan that fits, deletes one that does not, and corrects its own", async () => {
    await using bench = await openFullPoolBench(3);
    const [fits, differs, cold] = (await bench.members()).map(nameOf);
    const patch = (name = "", body: object) => bench.client.patch(sandboxType, named(name), { type: "merge", body });
    await patch(fits, { metadata: { ownerReferences: null } });
    await patch(differs, {
      metadata: { ownerReferences: null },
      spec: { podTemplate: { spec: { hostname: "mine" } } },
    });
    await patch(cold, { metadata: { labels: { [launchTypeLabel]: "cold" } } });
    await bench.settle();
    const members = await bench.members();
    expect(members).toHaveLength(3);
    expect(members.map(nameOf)).toEqual(expect.arrayContaining([fits, cold]));
    expect(members.map(nameOf)).not.toContain(differs);
    for (const { metadata } of members) {
      expect(metadata.labels?.[launchTypeLabel]).toBe("warm");
      expect(metadata.ownerReferences).toMatchObject([{ kind: "SandboxWarmPool", name: "warm", controller: true }]);
    }
  });
});

describe("a pool whose store lags behind", () => {
  it("writes nothing twice, and checks again after half a minute", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 3 } });
    await bench.reconcile();
    expect(await bench.reconcile()).toEqual({ requeueAfterMs: 30_000 });
    expect(await bench.members()).toHaveLength(3);
  });

  it("has exactly what is wanted after ten passes at the same time", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 20 } });
    await Promise.all(Array.from({ length: 10 }, () => bench.reconcile()));
    expect(await bench.members()).toHaveLength(20);
  });

  it("deletes nothing twice, and does not count it", async () => {
    await using bench = await openFullPoolBench(3);
    await bench.changePool({ replicas: 1 });
    await bench.refresh();
    await bench.reconcile();
    await bench.reconcile();
    await bench.reconcile();
    expect(bench.client.calls.filter(isCall("delete", "Sandbox"))).toHaveLength(2);
    expect((await bench.pool()).status).toMatchObject({ replicas: 1 });
    await bench.changePool({ replicas: 3 });
    await bench.settle();
    expect(await bench.members()).toHaveLength(3);
  });

  it("deletes no more before its store shows what it deleted, and checks again after half a minute", async () => {
    await using bench = await openFullPoolBench(3, { settings: { maxBatch: 2 } });
    await bench.changePool({ replicas: 0 });
    await bench.refresh();
    await bench.reconcile();
    expect(await bench.reconcile()).toEqual({ requeueAfterMs: 30_000 });
    expect(await bench.members()).toHaveLength(1);
  });

  it("does not delete a member that was claimed since it was seen", async () => {
    await using bench = await openFullPoolBench(1);
    await bench.changePool({ replicas: 0 });
    await bench.refresh();
    await bench.take();
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(1);
    await bench.settle();
    expect(await bench.members()).toHaveLength(1);
    expect((await bench.pool()).status).toMatchObject({ replicas: 0 });
  });

  it("begins anew when the pool was deleted and made again", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 1 }, settings: { maxRefillPerSecond: 0.001 } });
    await bench.reconcile();
    await bench.client.delete(sandboxWarmPoolType, named("warm"));
    await bench.refresh();
    expect(await bench.reconcile()).toEqual({});
    const again = { metadata: named("warm"), spec: { replicas: 1, sandboxTemplateRef: { name: "tpl" } } };
    await bench.client.create(sandboxWarmPoolType, again);
    await bench.settle();
    const { uid } = (await bench.pool()).metadata;
    expect((await bench.members()).filter((member) => controllerOf(member)?.uid === uid)).toHaveLength(1);
  });
});

describe("a pool whose calls fail", () => {
  it("makes what it can, says so in its status, and makes the rest the next time", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 10 } });
    fail(bench, isCall("create", "Sandbox"), refused(429, "TooManyRequests"), (count) => count >= 3);
    await expect(bench.reconcile()).rejects.toThrow("said TooManyRequests");
    expect(await bench.members()).toHaveLength(3);
    expect((await bench.pool()).status).toMatchObject({ replicas: 0, observedGeneration: 1 });
    expect(bench.client.calls.filter(isCall("create", "Sandbox")), "batches of 1, 2 and 4").toHaveLength(7);
    bench.client.failWith = undefined;
    await bench.refresh();
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(10);
  });

  it("reads its template where nothing can fail; whatever does fail, the status is written", async () => {
    await using bench = await openFullPoolBench(1);
    await bench.changePool({ replicas: 2 });
    fail(bench, ({ verb, subresource }) => verb !== "list" && subresource !== "status", refused(500, "InternalError"));
    await bench.refresh();
    await expect(bench.reconcile()).rejects.toThrow("said InternalError");
    expect((await bench.pool()).status).toMatchObject({ replicas: 1, observedGeneration: 2 });
    expect(bench.client.calls.some(({ kind }) => kind === "SandboxTemplate")).toBe(false);
  });

  it("takes a member for deleted that is gone already", async () => {
    await using bench = await openFullPoolBench(2);
    await bench.changePool({ replicas: 0 });
    await bench.refresh();
    for (const member of await bench.members()) await bench.client.delete(sandboxType, named(nameOf(member)));
    await bench.reconcile();
    await bench.refresh();
    await bench.changePool({ replicas: 1 });
    await bench.refresh();
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(1);
  });

  it("deletes again what it could not delete", async () => {
    await using bench = await openFullPoolBench(2);
    await bench.changePool({ replicas: 0 });
    await bench.refresh();
    fail(bench, isCall("delete", "Sandbox"), refused(500, "InternalError"));
    await expect(bench.reconcile()).rejects.toThrow("said InternalError");
    expect(bench.client.calls.filter(isCall("delete", "Sandbox"))).toHaveLength(1);
    bench.client.failWith = undefined;
    await bench.settle();
    expect(await bench.members()).toEqual([]);
  });

  it("makes no replacement for a stale member that it could not delete", async () => {
    await using bench = await openFullPoolBench(1, { pool: { updateStrategy: { type: "Recreate" } } });
    await bench.changeTemplate(image("new"));
    await bench.refresh();
    fail(bench, isCall("delete", "Sandbox"), refused(500, "InternalError"));
    await expect(bench.reconcile()).rejects.toThrow("said InternalError");
    expect(await bench.members()).toHaveLength(1);
    expect((await bench.pool()).status).toMatchObject({ replicas: 0 });
  });
});

describe("a member that does not become ready", () => {
  it("is deleted after five minutes, and replaced once it is gone", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 1 } });
    await bench.settle();
    const stuck = await first(bench);
    const body = { metadata: { finalizers: ["example.org/slow"] } };
    await bench.client.patch(sandboxType, named(nameOf(stuck)), { type: "merge", body });
    await bench.clock.advance(5 * minute + 1_000);
    await bench.settle();
    expect((await first(bench)).metadata.deletionTimestamp).toBeDefined();
    expect(await bench.members()).toHaveLength(1);
    expect((await bench.pool()).status).toMatchObject({ replicas: 0 });
    await bench.client.patch(sandboxType, named(nameOf(stuck)), {
      type: "merge",
      body: { metadata: { finalizers: null } },
    });
    await bench.settle();
    expect(nameOf(await first(bench))).not.toBe(nameOf(stuck));
  });

  it("is kept until then, and checked when its time is over", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 1 } });
    await bench.settle();
    await bench.clock.advance(4 * minute);
    const { requeueAfterMs = 0 } = await bench.reconcile();
    expect(requeueAfterMs).toBeGreaterThanOrEqual(minute + 2_000);
    expect(requeueAfterMs).toBeLessThanOrEqual(1.5 * (minute + 2_000));
    expect(await bench.members()).toHaveLength(1);
  });

  it("is kept while its Pod waits for a node, and this is reported once", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 1 } });
    await bench.settle();
    const member = await first(bench);
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable" } as const];
    await bench.makePod(member, { phase: "Pending", conditions });
    await bench.clock.advance(6 * minute);
    expect(await bench.reconcile()).toEqual({ requeueAfterMs: minute });
    expect(await bench.reconcile()).toEqual({ requeueAfterMs: minute });
    expect(bench.happenings.map(({ reason }) => reason)).toEqual(["WarmPoolNotProgressing"]);
    expect((await bench.pool()).status).toMatchObject({ replicas: 1, readyReplicas: 0 });
    await bench.makeReady(member);
    await bench.settle();
    expect(bench.happenings.map(({ reason }) => reason)).toEqual(["WarmPoolNotProgressing", "WarmPoolProgressing"]);
  });

  it("counts as active when it cannot be deleted", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 1 } });
    await bench.settle();
    await bench.clock.advance(6 * minute);
    fail(bench, isCall("delete", "Sandbox"), refused(500, "InternalError"));
    await expect(bench.reconcile()).rejects.toThrow("said InternalError");
    expect((await bench.pool()).status).toMatchObject({ replicas: 1 });
    expect(await bench.members()).toHaveLength(1);
  });

  it("is kept when it is unknown what its Pod waits for", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 1 } });
    await bench.settle();
    await bench.clock.advance(6 * minute);
    fail(bench, isCall("get", podType.kind), refused(500, "InternalError"));
    await expect(bench.reconcile()).rejects.toThrow("said InternalError");
    expect(await bench.members()).toHaveLength(1);
    expect((await bench.pool()).status).toMatchObject({ replicas: 1 });
  });
});
