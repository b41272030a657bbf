import { effectiveAutoResume } from "../../api/defaults.ts";
import type { Clock } from "../../lib/clock.ts";
import { aborted } from "../../lib/lifecycle.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import { mayChange, type PeerRefusal, refusalOfPeer } from "./peers.ts";
import type { Standing } from "./standings.ts";
import type { TcpClient } from "./tcp-client.ts";

/** Who asks to come in. */
export type Caller = Pick<TcpClient, "peer" | "left" | "onLeave">;

export interface Doorkeeper {
  readonly cluster: Pick<Cluster, "sandbox" | "podsAt" | "listen" | "listenAt">;
  readonly clock: Clock;
  readonly allowLoopbackPodIp: boolean;
}

/** A Pod may connect before the watch has shown us its address; no watch lags longer without being behind for other reasons. */
const watchLagMs = 2_000;

/** Whether a client may come to the sandbox that its port stands for: undefined if so. Nothing is woken by asking. */
export async function refusalOf(
  client: Caller,
  standing: Standing,
  doorkeeper: Doorkeeper,
): Promise<PeerRefusal | undefined> {
  const refusal = look(client.peer, standing, doorkeeper);
  if (refusal === undefined || !mayChange(refusal)) return refusal;
  return waitForPeer(client, standing, doorkeeper);
}

function look(
  peer: string,
  { namespace, sandboxName, sandboxUid }: Standing,
  { cluster, allowLoopbackPodIp }: Doorkeeper,
): PeerRefusal | undefined {
  const sandbox = cluster.sandbox(namespace, sandboxName);
  if (sandbox?.metadata.uid !== sandboxUid) return "NoSandbox";
  const { allowFrom } = effectiveAutoResume(sandbox.spec);
  return refusalOfPeer({
    ...{ peer, namespace, allowFrom, allowLoopback: allowLoopbackPodIp },
    pods: cluster.podsAt(peer),
  });
}

async function waitForPeer(
  client: Caller,
  standing: Standing,
  doorkeeper: Doorkeeper,
): Promise<PeerRefusal | undefined> {
  const { cluster, clock } = doorkeeper;
  using ofPeer = cluster.listenAt(client.peer);
  using ofSandbox = cluster.listen(standing.namespace, standing.sandboxName);
  const over = new AbortController();
  using _limit = clock.after(watchLagMs, () => over.abort());
  client.onLeave(() => over.abort());
  const ended = aborted(over.signal);
  for (;;) {
    ofPeer.reset();
    ofSandbox.reset();
    const refusal = look(client.peer, standing, doorkeeper);
    if (refusal === undefined || over.signal.aborted || client.left) return refusal;
    await Promise.race([ofPeer.next(), ofSandbox.next(), ended]);
  }
}
