import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Pod } from "../../../api/kinds/core.ts";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler.ts";

const waitingPods: readonly Stored<Pod>[] = Array.from({ length: 100 }, (_, at) => ({
  metadata: { ...{ namespace: "default", name: `p${at}`, uid: `u${at}` }, resourceVersion: "1", creationTimestamp: "" },
  spec: { containers: [], volumes: [{ name: "data", persistentVolumeClaim: { claimName: "gone" } }] },
}));

it("waiting Pods are checked again in turns, between which others have the event loop", async () => {
  const clock = new FakeClock();
  let checked = 0;
  const unused = (): never => {
    throw new Error("no Pod gets a place");
  };
  const stores = {
    pods: { list: () => waitingPods, get: (key: string) => waitingPods.find((pod) => keyOf(pod) === key) },
    claims: {
      get() {
        checked += 1;
        clock.standStill(1); // a look at a slow disk
        return undefined;
      },
    },
  } as unknown as Pick<SchedulerOptions, "pods" | "claims" | "client" | "events">;
  const node = { inheritedPath: "", podsOnNode: () => 0, podsMax: 1_000, assign: unused };
  const scheduler = new Scheduler({ ...stores, ...node, clock, log: silentLogger });
  for (const pod of waitingPods) scheduler.consider(pod);
  checked = 0;
  scheduler.checkAgain();
  scheduler.checkAgain();
  await setImmediate();
  expect(checked).toBeLessThan(waitingPods.length);
  await eventually(() => checked === 2 * waitingPods.length);
});
