import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { Condition } from "../../../api/kinds/meta.ts";
import { aSandbox, noon } from "../../../test/support/builders/builders.ts";
import { registerPoolSizes } from "./pool-sizes.ts";

it("a member of a pool is counted as ready, pending, succeeded or failed", async () => {
  const registry = new Registry();
  const ownerReferences = [
    {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxWarmPool",
      name: "warm",
      uid: "w",
      controller: true,
    },
  ];
  const member = (...conditions: readonly Pick<Condition, "type" | "status" | "reason">[]) =>
    aSandbox(
      {},
      { ownerReferences },
      { conditions: conditions.map((one) => ({ ...one, message: "", lastTransitionTime: noon })) },
    );
  const ready = { type: "Ready", status: "True", reason: "DependenciesReady" } as const;
  const finished = (reason: string) => ({ type: "Finished", status: "True", reason }) as const;
  const members = [
    member(ready),
    member({ ...ready, status: "False" }),
    member({ ...finished("PodFailed"), status: "False" }),
    member(),
    member(finished("PodSucceeded")),
    member(finished("PodFailed")),
    member(ready, finished("PodFailed")),
    aSandbox(),
  ];
  registerPoolSizes(registry, () => members);
  const metric = await registry.getSingleMetric("agent_sandbox_warmpool_size")?.get();
  const counts = metric?.values.map(({ labels, value }) => [labels["sandbox_status"], value]);
  expect(Object.fromEntries(counts ?? [])).toEqual({ ready: 1, pending: 3, succeeded: 1, failed: 2 });
});
