import { describe, expect, it } from "vitest";
import { openFullPoolBench, openPoolBench } from "../../test/support/labs/pool-bench.ts";

const minute = 60_000;

describe("the pace of a pool", () => {
  it("is one batch a pass", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 5 }, settings: { maxBatch: 2 } });
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(2);
    await bench.settle();
    expect(await bench.members()).toHaveLength(5);
    await bench.changePool({ replicas: 0 });
    await bench.refresh();
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(3);
  });

  it("without a delay replaces at once what was taken", async () => {
    await using bench = await openFullPoolBench(2);
    await bench.take();
    await bench.refresh();
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(3);
  });

  it("fills at once, then waits after each loss", async () => {
    await using bench = await openFullPoolBench(3, { settings: { replenishDelayMs: 10_000 } });
    await bench.take();
    await bench.refresh();
    expect(await bench.reconcile()).toEqual({ requeueAfterMs: 10_000 });
    await bench.clock.advance(6_000);
    await bench.take();
    await bench.refresh();
    expect(await bench.reconcile()).toEqual({ requeueAfterMs: 10_000 });
    expect(await bench.members()).toHaveLength(3);
    await bench.clock.advance(10_000);
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(5);
  });

  it("does not take its own creations for losses while they are not seen", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 3 }, settings: { replenishDelayMs: 10_000 } });
    let creations = 0;
    bench.client.failWith = ({ verb }) => (verb === "create" && ++creations === 3 ? new Error("refused") : undefined);
    await expect(bench.reconcile()).rejects.toThrow("refused");
    await bench.settle();
    expect(await bench.members()).toHaveLength(3);
  });

  it("does not keep what is stuck", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 2 }, settings: { replenishDelayMs: 10 * minute } });
    await bench.settle();
    const [member] = await bench.members();
    if (member) await bench.makeReady(member);
    await bench.take();
    await bench.clock.advance(6 * minute);
    await bench.refresh();
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(1);
    expect((await bench.pool()).status).toMatchObject({ replicas: 0 });
  });

  it("is as many a second as are allowed", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 10 }, settings: { maxRefillPerSecond: 2 } });
    await bench.settle();
    expect(await bench.members()).toHaveLength(2);
    expect(await bench.reconcile()).toMatchObject({ requeueAfterMs: 500 });
    await bench.clock.advance(1_000);
    await bench.settle();
    expect(await bench.members()).toHaveLength(4);
  });

  it("is not slowed down by what it was kept from making", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 3 }, settings: { maxRefillPerSecond: 2 } });
    await bench.reconcile();
    await bench.clock.advance(1_000);
    // The store shows none of the two: nothing may be made, and nothing of the allowance is used up.
    for (let pass = 0; pass < 5; pass += 1) expect(await bench.reconcile()).toMatchObject({ requeueAfterMs: 30_000 });
    await bench.refresh();
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(3);
  });

  it("waits first and then is as fast as allowed, from the full allowance on", async () => {
    const settings = { replenishDelayMs: 10_000, maxRefillPerSecond: 2 };
    await using bench = await openPoolBench({ pool: { replicas: 4 }, settings });
    await bench.settle();
    await bench.clock.advance(1_000);
    await bench.settle();
    for (const member of await bench.members()) await bench.makeReady(member);
    for (let taken = 0; taken < 4; taken += 1) await bench.take();
    await bench.refresh();
    expect(await bench.reconcile()).toEqual({ requeueAfterMs: 10_000 });
    await bench.clock.advance(10_000);
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(4 + 2);
  });
});
