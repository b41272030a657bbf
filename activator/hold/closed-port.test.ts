import { expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import type { AttemptFailed } from "../readiness/prober.ts";
import { ChangeSignal, changesOf } from "../sandbox/change-signal.ts";
import { longestSilenceMs } from "../sandbox/cluster.ts";
import type { HeldRequest } from "./held-request.ts";
import { SandboxHold } from "./sandbox-hold.ts";

interface Given {
  readonly dialRetryMs?: number;
  /** How long the Pod is young. */
  readonly youngSeconds?: number;
  readonly spec?: Partial<Sandbox["spec"]>;
  readonly silentMs?: () => number;
}

/** A hold for a closed port. No object changes, and the test ends each attempt. */
function aHold({ dialRetryMs = 0, youngSeconds = 1, spec = {}, silentMs = () => 0 }: Given, clock = new FakeClock()) {
  const timeouts = { autoResume: { timeoutSeconds: youngSeconds } };
  const sandbox: Stored<Sandbox> = aSandbox({ ...timeouts, ...spec }, { namespace: "default", uid: "u1" });
  const pod = aPodOf(sandbox, { uid: "p1" }, { phase: "Running", podIP: "10.0.0.1" });
  const signal = new ChangeSignal();
  const changes = changesOf(signal, { [Symbol.dispose]() {} });
  const cluster = {
    ...{ synced: true, silentMs, listen: () => changes, podOf: () => pod, sandbox: () => sandbox },
    sightsOf: () => ({ seenMs: 0, addressedMs: 0 }),
  };
  let attemptFailed: AttemptFailed = () => {};
  const prober = {
    reach(_: unknown, stop: AbortSignal, failed: AttemptFailed) {
      attemptFailed = failed;
      return new Promise((_, reject) => stop.addEventListener("abort", () => reject(stop.reason)));
    },
  };
  const options = { proxyTimeoutMs: 0, allowLoopbackPodIp: false, unschedulableGraceMs: undefined, dialRetryMs };
  const fences = { of: () => ({ reportedGeneration: 0, fenced: new Set() }) };
  const deps = { clock, cluster, prober, fences, options } as never;
  const hold = new SandboxHold({ namespace: "default", name: "nova", port: 80 }, "u1", deps, () => {});
  const ends: string[] = [];
  return {
    ends,
    clock,
    join(): void {
      const waiter = {
        ...{ sinceMs: clock.ticksMs(), head: undefined, connectRequest: { to: {}, use: { begin() {} }, deps } },
        end({ code }: { readonly code: string }) {
          ends.push(`${code} after ${clock.ticksMs() - waiter.sinceMs} ms`);
          hold.left(waiter as unknown as HeldRequest);
        },
      };
      hold.join(waiter as unknown as HeldRequest);
    },
    /** An attempt that took some time has failed now. */
    async attemptFailed(tookMs: number): Promise<void> {
      attemptFailed(clock.ticksMs() - tookMs);
      await clock.advance(0);
    },
  };
}

it("a request waits for a whole attempt that began after it came, even without any retry", async () => {
  const { join, clock, ends, attemptFailed } = aHold({});
  await clock.advance(5_000); // the Pod is no longer young
  join();
  await clock.advance(1_000);
  await attemptFailed(1_001);
  expect(ends).toEqual([]);
  await attemptFailed(1_000);
  expect(ends).toEqual(["ConnectFailed after 1000 ms"]);
  expect(clock.pending).toBe(0);
});

it("a request waits for a whole attempt of its own while others came before it", async () => {
  const { join, clock, ends, attemptFailed } = aHold({});
  await clock.advance(5_000);
  join();
  await clock.advance(60);
  join();
  await attemptFailed(50);
  expect(ends).toEqual(["ConnectFailed after 60 ms"]);
  await clock.advance(60);
  await attemptFailed(50);
  expect(ends).toEqual(["ConnectFailed after 60 ms", "ConnectFailed after 60 ms"]);
});

it("a request on an activator that stood still is not rejected before its first attempt has ended", async () => {
  const { join, clock, ends, attemptFailed } = aHold({ dialRetryMs: 1_400 });
  await clock.advance(5_000);
  join();
  await clock.advance(0);
  await clock.pause(1_600);
  expect(ends).toEqual([]);
  await attemptFailed(10);
  expect(ends).toEqual(["ConnectFailed after 1600 ms"]);
});

it("a request that came while the Pod was young is rejected once it is old, though no object changes", async () => {
  const { join, clock, ends, attemptFailed } = aHold({ dialRetryMs: 1_400, youngSeconds: 3 });
  join();
  await clock.advance(100);
  await attemptFailed(50);
  await clock.advance(4_200);
  expect(ends).toEqual([]);
  await clock.advance(100);
  expect(ends).toEqual(["ConnectFailed after 4400 ms"]);
  expect(clock.pending).toBe(0);
});

it("a held request ends when the time of its sandbox does, though no object changes", async () => {
  const { join, clock, ends } = aHold({ spec: { shutdownTime: "2026-01-01T00:00:30Z" }, youngSeconds: 60 });
  join();
  await clock.advance(29_999);
  expect(ends).toEqual([]);
  await clock.advance(1);
  expect(ends).toEqual(["SandboxExpired after 30000 ms"]);
});

it("a held request ends when the API server has been silent for too long", async () => {
  const clock = new FakeClock();
  const { join, ends } = aHold({ silentMs: () => clock.ticksMs(), youngSeconds: 600 }, clock);
  join();
  await clock.advance(longestSilenceMs);
  expect(ends).toEqual([]);
  await clock.advance(1);
  expect(ends).toEqual([`ClusterUnseen after ${longestSilenceMs + 1} ms`]);
});
