import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { AutoResume } from "../../api/kinds/sandbox.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { Activity } from "../activity/activity.ts";
import { createWakeMetrics } from "../observe/wake-metrics.ts";
import { serveTcp } from "./connection/serve-tcp.ts";
import { doorOfPeers } from "./peer-door.ts";

const peer = "10.1.2.3";

/**
 * Serves a connection of a Pod in another namespace. `later`: what the sandbox allows once the connection was held. `clients`: the
 * Pods that have its address then.
 */
async function serveHeld(later: NonNullable<AutoResume["allowFrom"]>, clients?: readonly []) {
  let allowFrom: NonNullable<AutoResume["allowFrom"]> = "Cluster";
  const sandbox = () => aSandbox({ operatingMode: "Suspended", autoResume: { allowFrom } }, { uid: "u1" });
  const client = aPodOf(sandbox(), { namespace: "other" }, { phase: "Running", podIP: peer });
  let podsAt: readonly (typeof client)[] = [client];
  const steps: string[] = [];
  const clock = new FakeClock();
  const metrics = new Proxy({}, { get: (_, name) => (reason: unknown) => steps.push([name, reason].flat().join(" ")) });
  const socket = { destroyed: false, destroy: () => steps.push("upstream closed") };
  const deps = {
    ...{ clock, log: silentLogger, accessLog: undefined, mayLog: new OncePerMinute(clock), metrics },
    ...{ podSeenMs: () => 0, acceptedMs: () => 0, onWake: undefined, activity: new Activity(clock) },
    wakes: createWakeMetrics(new Registry()),
    cluster: { synced: true, silentMs: () => 0, sandbox, podsAt: () => podsAt, podOf: () => undefined },
    fences: { of: () => ({ reportedGeneration: 0, fenced: new Set() }) },
    options: { allowLoopbackPodIp: false },
    holds: {
      async join() {
        allowFrom = later;
        podsAt = clients ?? podsAt;
        return { target: { podUid: "p1" }, socket };
      },
    },
  };
  const binding = { namespace: "lab", sandboxName: "nova", sandboxUid: "u1", containerPort: 1, activatorPort: 10_000 };
  const connection = { bytesRead: 0, bytesWritten: 0, destroyed: true };
  const tcpClient = {
    ...{ peer, left: false, seenMs: 0, socket: connection, onLeave() {}, refuse: () => steps.push("client refused") },
  };
  const door = doorOfPeers({ ...deps, allowLoopbackPodIp: false, waits: undefined } as never);
  await serveTcp(tcpClient as never, binding, deps as never, door);
  return steps;
}

it("a held connection is refused if its sandbox allows its Pod no longer", async () => {
  const steps = await serveHeld("Namespace");
  expect(steps).toEqual(expect.arrayContaining(["upstream closed", "refused OtherNamespace", "client refused"]));
  expect(steps).not.toContain("relayBegan ");
});

it("a held connection is relayed if its sandbox still allows its Pod", async () => {
  expect(await serveHeld("Cluster")).toContain("relayBegan ");
});

it("a held connection is relayed if its Pod has ended: it may have sent all that it wanted", async () => {
  expect(await serveHeld("Cluster", [])).toContain("relayBegan ");
});
