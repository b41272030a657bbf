import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { Change } from "../../kube/informer/informer.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { ReplicaState } from "./replica-state.ts";

const nova = aSandbox({ operatingMode: "Running" });

function lab() {
  const parts = { clock: new FakeClock(), log: silentLogger, registry: new Registry(), allowLoopbackPodIp: false };
  const replicaState = new ReplicaState(parts);
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
