import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import type { Reached } from "../readiness/prober.ts";
import { ChangeSignal, changesOf } from "../sandbox/change-signal.ts";
import type { HeldRequest } from "./held-request.ts";
import { SandboxHold } from "./sandbox-hold.ts";

/** A hold whose Pod moves to another address, and the end of each wait for a port, which is the test's. */
function aMovingPod() {
  const clock = new FakeClock();
  const sandbox = aSandbox({}, { namespace: "default", uid: "u1" });
  const signal = new ChangeSignal();
  let podIP = "10.0.0.1";
  const cluster = {
    ...{ synced: true, silentMs: () => 0, sightsOf: () => undefined, sandbox: () => sandbox },
    listen: () => changesOf(signal, { [Symbol.dispose]() {} }),
    podOf: () => aPodOf(sandbox, { uid: "p1" }, { phase: "Running", podIP }),
  };
  const waits: PromiseWithResolvers<Reached>[] = [];
  const prober = {
    reach() {
      const wait = Promise.withResolvers<Reached>();
      waits.push(wait);
      return wait.promise;
    },
  };
  const options = { proxyTimeoutMs: 0, allowLoopbackPodIp: false, unschedulableGraceMs: undefined, dialRetryMs: 0 };
  const fences = { of: () => ({ reportedGeneration: 0, fenced: new Set() }) };
  const deps = { clock, cluster, prober, fences, options } as never;
  const hold = new SandboxHold({ namespace: "default", name: "nova", port: 80 }, "u1", deps, () => {});
  const waiter = { sinceMs: 0, head: undefined, connectRequest: { to: {}, use: { begin() {} }, deps } };
  hold.join(waiter as unknown as HeldRequest);
  return {
    clock,
    waits,
    async move(): Promise<void> {
      podIP = "10.0.0.2";
      signal.notify();
      await clock.advance(0);
    },
    leave: () => hold.left(waiter as unknown as HeldRequest),
  };
}

it("a hold closes a connection to an address that its Pod has lost just before", async () => {
  const pod = aMovingPod();
  await pod.clock.advance(0);
  await pod.move();
  expect(pod.waits).toHaveLength(2);
  let destroyed = 0;
  const socket = { destroy: () => (destroyed += 1) };
  // The prober had its answer already, so its wait could not be stopped.
  pod.waits[0]?.resolve({ socket } as unknown as Reached);
  await pod.clock.advance(0);
  expect(destroyed).toBe(1);
  pod.leave();
});
