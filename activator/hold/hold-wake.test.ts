import { expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import type { Wake } from "../wake/waker.ts";
import { HoldWake } from "./hold-wake.ts";

const asleep = (resourceVersion: string): Stored<Sandbox> => ({
  ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: sandboxType.kind },
  metadata: {
    name: "nova",
    namespace: "default",
    uid: "u1",
    resourceVersion,
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
  spec: { podTemplate: { spec: { containers: [] } }, operatingMode: "Suspended" },
});

/** A hold whose wakes end as the test says. */
function given() {
  const asked: PromiseWithResolvers<Wake>[] = [];
  const state = { over: 0 };
  const waker = {
    wake() {
      const next = Promise.withResolvers<Wake>();
      asked.push(next);
      return next.promise;
    },
  };
  const onOver = () => (state.over += 1);
  const wake = new HoldWake({ waker, signal: new AbortController().signal, onWoke: () => {}, onOver });
  return { wake, asked, state };
}

it("a failed wake ends the hold; if the sandbox was seen awake since, it is asked for again", async () => {
  const { wake, asked, state } = given();
  wake.seenAsleep(asleep("1"));
  asked[0]?.reject(new Error("rejected"));
  await expect.poll(() => state.over).toBe(1);
  expect(() => wake.seenAsleep(asleep("1"))).toThrow("rejected");
  wake.seenAwake();
  expect(wake.seenAsleep(asleep("2"))).toBe("the API server to take the wake");
  expect(asked.length).toBe(2);
});
