import { expect, it } from "vitest";
import type { Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { DialError } from "../connect/dial.ts";
import { ChangeSignal, changesOf } from "../sandbox/change-signal.ts";
import type { HeldRequest } from "./held-request.ts";
import { SandboxHold } from "./sandbox-hold.ts";

const ip = "10.0.0.1";
const waiting = { reason: "CrashLoopBackOff", message: "it exits" };
const containerStatuses = [
  { name: "sidecar", image: "program", imageID: "", ready: false, restartCount: 0, state: { waiting } },
];

/** A hold for a Pod of which a container fails. The one attempt to connect ends when the test says so, or is cancelled. */
function given() {
  const sandbox: Stored<Sandbox> = aSandbox({}, { namespace: "default", uid: "u1" });
  const failing = aPodOf(sandbox, { uid: "p1" }, { phase: "Running", podIP: ip, containerStatuses });
  const world: { sandbox: Stored<Sandbox> | undefined; pod: Stored<Pod> } = { sandbox, pod: failing };
  const clock = new FakeClock();
  const signal = new ChangeSignal();
  const changes = changesOf(signal, { [Symbol.dispose]() {} });
  const cluster = {
    ...{ synced: true, silentMs: () => 0, listen: () => changes, podOf: () => world.pod, sandbox: () => world.sandbox },
    sightsOf: () => ({ seenMs: 0, addressedMs: 0 }),
  };
  const attempt = Promise.withResolvers<never>();
  const connector = {
    connect(_target: unknown, _head: unknown, { signal: over }: { readonly signal: AbortSignal }) {
      over.addEventListener("abort", () => attempt.reject(over.reason));
      return attempt.promise;
    },
  };
  const probed: string[] = [];
  const prober = {
    forget() {},
    reach({ podUid }: { readonly podUid: string }) {
      probed.push(podUid);
      return new Promise(() => {});
    },
  };
  const options = { proxyTimeoutMs: 0, allowLoopbackPodIp: false, unschedulableGraceMs: undefined, dialRetryMs: 0 };
  const fences = { of: () => ({ reportedGeneration: 0, fenced: new Set() }) };
  const deps = { clock, cluster, connector, prober, fences, options } as never;
  const hold = new SandboxHold({ namespace: "default", name: "nova", port: 80 }, "u1", deps, () => {});
  const ends: string[] = [];
  const waiter = {
    ...{ sinceMs: 0, head: undefined, connectRequest: { to: {}, use: { begin() {} }, deps }, dialFailed() {} },
    end({ code }: { readonly code: string }) {
      ends.push(code);
      hold.left(waiter as unknown as HeldRequest);
    },
  };
  hold.join(waiter as unknown as HeldRequest);
  return {
    ...{ ends, probed, sandbox },
    attemptFails: () => attempt.reject(new DialError({ ip, port: 80 }, { timedOut: false })),
    async seen(change: Partial<typeof world>): Promise<void> {
      Object.assign(world, change);
      signal.notify();
      await clock.advance(0);
    },
    settled: () => clock.advance(0),
  };
}

it("a request to a failing Pod gets the failure once the port does not accept", async () => {
  const lab = given();
  await lab.settled();
  expect(lab.ends).toEqual([]);
  lab.attemptFails();
  await lab.settled();
  expect(lab.ends).toEqual(["ContainerFailed"]);
});

it("a request whose connection to a failing Pod is awaited ends at once when the sandbox is deleted", async () => {
  const lab = given();
  await lab.settled();
  await lab.seen({ sandbox: undefined });
  expect(lab.ends).toEqual(["SandboxDeleted"]);
});

it("a request whose connection to a failing Pod is awaited goes to a new Pod at once", async () => {
  const lab = given();
  await lab.settled();
  await lab.seen({ pod: aPodOf(lab.sandbox, { uid: "p2" }, { phase: "Running", podIP: "10.0.0.2" }) });
  expect([lab.ends, lab.probed]).toEqual([[], ["p2"]]);
});

it("a request does not get a failure that has passed while its connection was awaited", async () => {
  const lab = given();
  await lab.settled();
  await lab.seen({ pod: aPodOf(lab.sandbox, { uid: "p1" }, { phase: "Running", podIP: ip }) });
  lab.attemptFails();
  await lab.settled();
  expect([lab.ends, lab.probed]).toEqual([[], ["p1"]]);
});
