import { describe, expect, it } from "vitest";
import type { Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { PodPhase } from "../../api/kinds/pod.ts";
import { type PeerQuestion, refusalOfPeer } from "./peers.ts";

interface Said {
  readonly phase?: PodPhase;
  readonly hostNetwork?: boolean;
}

function aPod(namespace: string, { phase = "Running", hostNetwork = false }: Said = {}): Stored<Pod> {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace, uid: "p1", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { containers: [], hostNetwork },
    status: { phase, podIP: "10.1.2.3" },
  };
}

const asked = (changed: Partial<PeerQuestion>) =>
  refusalOfPeer({
    ...{ peer: "10.1.2.3", pods: [], namespace: "lab", allowFrom: "Namespace", allowLoopback: false },
    ...changed,
  });

describe("a peer", () => {
  it.each([
    { who: "a Pod of the sandbox's namespace", pods: [aPod("lab")], refusal: undefined },
    { who: "a Pod that has not started", pods: [aPod("lab", { phase: "Pending" })], refusal: undefined },
    { who: "a Pod of another namespace", pods: [aPod("den")], refusal: "OtherNamespace" },
    { who: "a Pod that has ended", pods: [aPod("lab", { phase: "Succeeded" })], refusal: "NoPod" },
    { who: "a Pod that has failed", pods: [aPod("lab", { phase: "Failed" })], refusal: "NoPod" },
    { who: "a Pod with its node's address", pods: [aPod("lab", { hostNetwork: true })], refusal: "NoPod" },
    { who: "an address of which no Pod is known", pods: [], refusal: "NoPod" },
    {
      who: "an address that one of another namespace had before",
      pods: [aPod("den", { phase: "Failed" }), aPod("lab")],
      refusal: undefined,
    },
  ])("that is $who: $refusal", ({ pods, refusal }) => {
    expect(asked({ pods })).toBe(refusal);
  });

  it.each([
    { who: "a Pod of another namespace", pods: [aPod("den")], refusal: undefined },
    { who: "a node", pods: [aPod("lab", { hostNetwork: true })], refusal: "NoPod" },
    { who: "an address of no Pod", pods: [], refusal: "NoPod" },
  ])("that is $who, if the sandbox admits the whole cluster: $refusal", ({ pods, refusal }) => {
    for (const allowFrom of ["Cluster", "Any"] as const) expect(asked({ pods, allowFrom })).toBe(refusal);
  });

  it.each(["127.0.0.1", "127.9.8.7", "::1"])("on this machine comes only where everything is one: %s", (peer) => {
    expect(asked({ peer, allowFrom: "Cluster", pods: [aPod("lab")] })).toBe("Loopback");
    expect(asked({ peer, allowLoopback: true })).toBeUndefined();
  });
});
