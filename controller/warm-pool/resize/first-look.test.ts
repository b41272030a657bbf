import { describe, expect, it } from "vitest";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { openFullPoolBench, openPoolBench, type PoolBench } from "../../../test/support/labs/pool-bench.ts";

const namespace = "default";
const verbs = (bench: PoolBench) => bench.client.calls.map(({ verb, kind }) => `${verb} ${kind}`);

describe("a new leader whose store of sandboxes lags behind", () => {
  it("makes no member twice, and goes on when its store does", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 5 } });
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(5);
    bench.restartBehind();
    for (let pass = 0; pass < 20; pass += 1) {
      await bench.reconcile();
      await bench.clock.advance(1_000);
    }
    expect(await bench.members()).toHaveLength(5);
    await bench.settle();
    await bench.changePool({ replicas: 7 });
    await bench.settle();
    expect(await bench.members()).toHaveLength(7);
  });

  it("removes no more members than are too many", async () => {
    await using bench = await openFullPoolBench(6);
    const all = (await bench.members()).map(({ metadata }) => metadata.name);
    await bench.changePool({ replicas: 3 });
    await bench.refresh();
    // The leader before has removed other members than this one would.
    for (const name of all.slice(3)) await bench.client.delete(sandboxType, { namespace, name });
    bench.restartBehind();
    for (let pass = 0; pass < 5; pass += 1) {
      await bench.reconcile();
      await bench.clock.advance(1_000);
    }
    await bench.settle();
    expect((await bench.members()).map(({ metadata }) => metadata.name)).toEqual(all.slice(0, 3));
  });

  it("asks the API server less often the longer that takes", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 2 } });
    await bench.reconcile();
    bench.restartBehind();
    bench.client.calls.length = 0;
    for (let ms = 0; ms < 60_000; ms += 100) {
      await bench.reconcile();
      await bench.clock.advance(100);
    }
    const lists = verbs(bench).filter((call) => call === "list Sandbox");
    expect(lists.length).toBeGreaterThan(4);
    expect(lists.length).toBeLessThan(12);
  });
});

describe("a new leader whose store is up to date", () => {
  it("fills a pool at once, with one list, and without one the next time", async () => {
    await using bench = await openFullPoolBench(2);
    await bench.changePool({ replicas: 3 });
    await bench.restart();
    bench.client.calls.length = 0;
    await bench.reconcile();
    expect(verbs(bench).filter((call) => call.endsWith(" Sandbox"))).toEqual(["list Sandbox", "create Sandbox"]);
    await bench.changePool({ replicas: 4 });
    await bench.refresh();
    bench.client.calls.length = 0;
    await bench.reconcile();
    expect(verbs(bench).filter((call) => call.endsWith(" Sandbox"))).toEqual(["create Sandbox"]);
  });

  it("fills a pool although its members change all the time, once its store has come as far as the list", async () => {
    await using bench = await openFullPoolBench(2);
    await bench.changePool({ replicas: 3 });
    await bench.restart();
    const touch = async () => {
      const body = { metadata: { annotations: { at: String(bench.clock.ticksMs()) } } };
      for (const { metadata } of await bench.members()) {
        await bench.client.patch(sandboxType, { namespace, name: metadata.name }, { type: "merge", body });
      }
    };
    await touch();
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(2);
    await bench.clock.advance(10);
    await bench.refresh();
    await touch();
    expect(await bench.reconcile()).toEqual({ requeueAfterMs: 1 });
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(3);
  });

  it("makes nothing while the list fails", async () => {
    await using bench = await openFullPoolBench(1);
    await bench.changePool({ replicas: 2 });
    await bench.restart();
    bench.client.failWith = ({ verb }) => (verb === "list" ? new Error("no answer") : undefined);
    await expect(bench.reconcile()).rejects.toThrow("no answer");
    bench.client.failWith = undefined;
    expect(await bench.members()).toHaveLength(1);
    await bench.reconcile();
    expect(await bench.members()).toHaveLength(2);
  });
});
