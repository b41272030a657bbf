import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import { networkPolicyType } from "../../api/kinds/network-policy.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { launchTypeLabel } from "../../api/rules/keys.ts";
import { openFullPoolBench, type PoolBench } from "../../test/support/labs/pool-bench.ts";
import { makeNetworkPolicy } from "../template/make-network-policy.ts";

const recreate = { pool: { updateStrategy: { type: "Recreate" } } } as const;
const image = (tag: string) => ({ podTemplate: { spec: { containers: [{ name: "main", image: `busybox:${tag}` }] } } });
const nameOf = ({ metadata }: Stored<Sandbox>) => metadata.name;
const named = (name: string) => ({ namespace: "default", name });
const imagesOf = async (bench: PoolBench) =>
  (await bench.members()).map(({ spec }) => spec.podTemplate.spec.containers[0]?.image);

describe("a roll-out", () => {
  it("replaces all members, and never has more than are wanted", async () => {
    await using bench = await openFullPoolBench(3, recreate);
    const before = (await bench.members()).map(nameOf);
    await bench.changeTemplate(image("new"));
    for (let pass = 0; pass < 4; pass += 1) {
      await bench.refresh();
      await bench.reconcile();
      expect((await bench.members()).length).toBeLessThanOrEqual(3);
    }
    const members = await bench.members();
    expect(members).toHaveLength(3);
    for (const { metadata, spec } of members) {
      expect(before).not.toContain(metadata.name);
      expect(spec.podTemplate.spec.containers).toMatchObject([{ image: "busybox:new" }]);
    }
  });

  it("waits until the members that it deleted are gone, and needs no time for that", async () => {
    await using bench = await openFullPoolBench(1, recreate);
    await bench.changeTemplate(image("new"));
    await bench.refresh();
    expect(await bench.reconcile()).toEqual({});
    expect(await bench.members()).toEqual([]);
    await bench.refresh();
    await bench.reconcile();
    expect(await imagesOf(bench)).toEqual(["busybox:new"]);
  });

  it("replaces all members when the pool names another template, were it the same", async () => {
    await using bench = await openFullPoolBench(1, recreate);
    const { spec } = await bench.client.get(sandboxTemplateType, named("tpl"));
    const twin = await bench.client.create(sandboxTemplateType, { metadata: named("twin"), spec });
    await bench.client.create(networkPolicyType, makeNetworkPolicy(twin));
    await bench.changePool({ sandboxTemplateRef: { name: "twin" } });
    await bench.settle();
    const [member] = await bench.members();
    expect(member?.metadata.annotations).toMatchObject({ "agents.x-k8s.io/sandbox-template-ref": "twin" });
  });

  it("ends as it should under the next controller, wherever between two writes the first one was killed", async () => {
    let survived = false;
    for (let writes = 0; !survived; writes += 1) {
      await using bench = await openFullPoolBench(3, recreate);
      const [odd] = await bench.members();
      const body = { metadata: { labels: { [launchTypeLabel]: "cold" } } };
      if (odd) await bench.client.patch(sandboxType, named(nameOf(odd)), { type: "merge", body });
      await bench.changeTemplate(image("new"));
      survived = await rollOutUntilKilled(bench, writes);
      await bench.restart();
      await bench.settle();
      // It has deleted members before it looked at the store for the first time.
      await bench.clock.advance(1_000);
      await bench.settle();
      expect(await imagesOf(bench), `killed after ${writes} writes`).toEqual(Array(3).fill("busybox:new"));
      expect((await bench.pool()).status).toMatchObject({ replicas: 3, readyReplicas: 0 });
    }
  }, 60_000);
});

/** Lets the controller write so often and then no more; whether it came to its end with that. */
async function rollOutUntilKilled(bench: PoolBench, writesMax: number): Promise<boolean> {
  let writes = 0;
  bench.client.failWith = ({ verb }) =>
    verb !== "get" && verb !== "list" && ++writes > writesMax ? new Error("killed") : undefined;
  await bench.settle().catch(() => {});
  bench.client.failWith = undefined;
  return writes <= writesMax;
}
