import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { drainPaths } from "../../api/protocols/drain-protocol.ts";
import type { Change } from "../../kube/informer/informer.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { ReplicaState } from "./replica-state.ts";

const nova = aSandbox({ operatingMode: "Running" });

const aReplica = () => ({
  clock: new FakeClock(),
  log: silentLogger,
  registry: new Registry(),
  allowLoopbackPodIp: false,
});

function lab() {
  const replicaState = new ReplicaState(aReplica());
  let inView: Stored<Sandbox> | undefined = nova;
  let changed: (change: Change<Sandbox>) => void = () => {};
  replicaState.keepFrom({
    sandbox: () => inView,
    podOf: () => undefined,
    hasPod: () => false,
    listen: () => ({ next: () => Promise.resolve(), reset: () => {}, [Symbol.dispose]: () => {} }),
    silentMs: () => 0,
    onSandboxChange: (listener) => {
      changed = listener;
    },
    onPodGone: () => {},
  });
  const goes = () => {
    inView = undefined;
    changed({ key: "default/nova", previous: nova, current: undefined });
  };
  return { replicaState, goes };
}

describe("a wake after its answer", () => {
  it("is recorded while its sandbox is in view", () => {
    const { replicaState } = lab();
    replicaState.woken(nova, 80);
    expect(replicaState.activity.size).toBe(1);
  });

  it("leaves no record after its sandbox was seen deleted", () => {
    const { replicaState, goes } = lab();
    goes();
    replicaState.woken(nova, 80);
    expect([replicaState.activity.size, replicaState.fences.size]).toEqual([0, 0]);
  });
});

describe("a replica that has no view of the cluster yet", () => {
  it("obeys a reported suspension, and reports that it listens on no port", async () => {
    const replicaState = new ReplicaState(aReplica());
    await using server = await replicaState.listen({ host: "127.0.0.1", port: 0, tls: undefined });
    const { uid, name, namespace } = nova.metadata;
    const ask = async (path: string, body: object) => {
      const init = { method: "POST", body: JSON.stringify(body) };
      return (await fetch(`http://127.0.0.1:${server.port}${path}`, init)).json();
    };
    const observed = { sandbox: { uid, name, namespace }, podUid: "p1", generation: 2 };
    expect(await ask(drainPaths.observed, observed)).toEqual({ inFlight: 0 });
    expect(replicaState.fences.of(uid).reportedGeneration).toBe(2);
    expect(await ask(drainPaths.listening, { ports: [{ sandboxUid: uid, activatorPort: 10_000 }] })).toEqual({
      ports: [],
    });
  });

  it("keeps a bounded number of fences", () => {
    const { fences } = new ReplicaState(aReplica());
    for (let pod = 0; pod < 100; pod += 1) fences.fence(nova.metadata.uid, `p${pod}`);
    expect(fences.of(nova.metadata.uid).fenced.size).toBeLessThan(20);
  });
});
