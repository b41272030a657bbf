import { effectiveAutoResume } from "../../api/rules/defaults.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { PeerRefusal } from "./connection/refusals.ts";
import type { TcpClient } from "./connection/tcp-client.ts";
import type { TcpDestination } from "./connection/tcp-destination.ts";
import type { PeerWaits } from "./peer-waits.ts";
import { mayChange, refusalOfPeer } from "./peers.ts";

/** The client of a connection. */
export type Caller = Pick<TcpClient, "peer" | "left" | "onLeave">;

export interface Doorkeeper {
  readonly cluster: Pick<Cluster, "sandbox" | "podsAt">;
  readonly waits: PeerWaits;
  readonly clock: Clock;
  readonly allowLoopbackPodIp: boolean;
}

/** A Pod may connect before the watch shows its address, by this many milliseconds at most; a larger lag has other causes. */
const watchLagMs = 2_000;

/** Returns why a client may not reach the sandbox of its port; undefined: it may. This wakes nothing. */
export async function refusalOf(
  client: Caller,
  binding: TcpDestination,
  doorkeeper: Doorkeeper,
): Promise<PeerRefusal | undefined> {
  const refusal = refusalNow(client.peer, binding, doorkeeper);
  if (refusal === undefined || !mayChange(refusal)) return refusal;
  return waitForPeer(client, binding, doorkeeper);
}

/** As `refusalOf`, without a wait: by what the watches show now. */
export function refusalNow(
  peer: string,
  { namespace, sandboxName, sandboxUid }: TcpDestination,
  { cluster, allowLoopbackPodIp }: Pick<Doorkeeper, "cluster" | "allowLoopbackPodIp">,
): PeerRefusal | undefined {
  const sandbox = cluster.sandbox(namespace, sandboxName);
  if (sandbox?.metadata.uid !== sandboxUid) return "NoSandbox";
  const { allowFrom } = effectiveAutoResume(sandbox.spec);
  return refusalOfPeer({
    ...{ peer, namespace, allowFrom, allowLoopback: allowLoopbackPodIp },
    pods: cluster.podsAt(peer),
  });
}

/** Whether a client that may connect is no Pod of the namespace of the sandbox. */
export function isOutsider(
  peer: string,
  { namespace }: Pick<TcpDestination, "namespace">,
  { cluster, allowLoopbackPodIp: allowLoopback }: Pick<Doorkeeper, "cluster" | "allowLoopbackPodIp">,
): boolean {
  const pods = cluster.podsAt(peer);
  return refusalOfPeer({ peer, pods, namespace, allowFrom: "Namespace", allowLoopback }) !== undefined;
}

async function waitForPeer(
  client: Caller,
  binding: TcpDestination,
  doorkeeper: Doorkeeper,
): Promise<PeerRefusal | undefined> {
  const { waits, clock } = doorkeeper;
  const now = () => refusalNow(client.peer, binding, doorkeeper);
  const over = Promise.withResolvers<void>();
  const isAdmitted = () => now() === undefined;
  using joined = waits.join(client.peer, binding, isAdmitted, over.resolve);
  if (!joined) return now();
  using _limit = clock.after(watchLagMs, over.resolve);
  client.onLeave(over.resolve);
  await over.promise;
  return now();
}
