import { describe, expect, it } from "vitest";
import type { Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { openPoolBench, type PoolBench } from "../../../test/support/labs/pool-bench.ts";

const image = (tag: string) => ({ podTemplate: { spec: { containers: [{ name: "main", image: `busybox:${tag}` }] } } });
const named = (name: string) => ({ namespace: "default", name });

async function first(bench: PoolBench): Promise<Stored<Sandbox>> {
  const [member] = await bench.members();
  if (!member) throw new Error("the pool has no member");
  return member;
}

/** Lets time pass, so many minutes at once, and returns how many sandboxes there were in all. */
async function madeWithin(bench: PoolBench, minutes: number, step = 1): Promise<number> {
  const uids = new Set<string>();
  for (let passed = 0; passed < minutes; passed += step) {
    await bench.clock.advance(step * 60_000);
    await bench.settle();
    for (const { metadata } of await bench.members()) uids.add(metadata.uid);
  }
  return uids.size;
}

describe("a pool whose members never become ready", () => {
  it("replaces them after twice the time each time, and after an hour at most", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 2 } });
    await bench.settle();
    expect(await madeWithin(bench, 60)).toBe(2 * 4);
    expect(await madeWithin(bench, 6 * 60, 15)).toBeLessThanOrEqual(2 * 7);
    expect(bench.happenings.map(({ reason }) => reason)).toEqual(["WarmPoolNotProgressing"]);
    expect(bench.happenings[0]?.note).toContain("replaced, once; the next are replaced after 10m0s");
  });

  it("tries anew at once when the template changes", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 1 } });
    await bench.settle();
    await madeWithin(bench, 40, 10);
    const stuck = await first(bench);
    await bench.changeTemplate(image("mended"));
    await bench.clock.advance(5 * 60_000 + 1_000);
    await bench.settle();
    expect((await first(bench)).metadata.uid).not.toBe(stuck.metadata.uid);
    expect((await first(bench)).spec.podTemplate.spec.containers[0]?.image).toBe("busybox:mended");
  });

  it("is as patient as in the beginning once one has become ready", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 1 } });
    await bench.settle();
    await madeWithin(bench, 40, 10);
    await bench.makeReady(await first(bench));
    await bench.settle();
    expect(bench.happenings.at(-1)?.reason).toBe("WarmPoolProgressing");
    await bench.take();
    await bench.settle();
    expect(await madeWithin(bench, 6)).toBe(3);
  });

  it.each([noon, noon.replace("Z", ",0Z")])(
    "reports it with the text of the error, seconds after the first: %s",
    async (lastTransitionTime) => {
      await using bench = await openPoolBench({ pool: { replicas: 2 } });
      await bench.settle();
      for (const { metadata } of await bench.members()) {
        const message = "Error seen: pods is forbidden: exceeded quota";
        const refused = { type: "Ready", status: "False", reason: "ReconcilerError", message, lastTransitionTime };
        const body = { status: { conditions: [refused] } };
        await bench.client.patch(sandboxType, named(metadata.name), { type: "merge", body }, { subresource: "status" });
      }
      await bench.refresh();
      expect(await bench.reconcile()).toMatchObject({ requeueAfterMs: 5_000 });
      expect(bench.happenings).toEqual([]);
      await bench.clock.advance(5_000);
      await bench.reconcile();
      expect(bench.happenings).toMatchObject([
        {
          type: "Warning",
          reason: "WarmPoolNotProgressing",
          note: "2/2 sandboxes cannot start: Error seen: pods is forbidden: exceeded quota",
        },
      ]);
    },
  );
});

describe("a pool whose controller's clock is not that of the API server", () => {
  it.each([
    ["two hours ahead", 2],
    ["two hours behind", -2],
  ])("replaces members after five minutes as well, and after twice the time each time: %s", async (_, hours) => {
    await using bench = await openPoolBench({ pool: { replicas: 2 }, clockAheadMs: hours * 3_600_000 });
    await bench.settle();
    expect(await madeWithin(bench, 4)).toBe(2);
    expect(await madeWithin(bench, 56)).toBe(2 * 4);
  });

  it("replaces no member because the clock jumps", async () => {
    await using bench = await openPoolBench({ pool: { replicas: 2 } });
    await bench.settle();
    const before = await bench.members();
    bench.clock.jumpWall(2 * 3_600_000);
    expect(await madeWithin(bench, 4)).toBe(2);
    expect(await bench.members()).toEqual(before);
  });
});
