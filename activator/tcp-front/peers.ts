import { isIPv4 } from "node:net";
import type { Pod } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { AutoResume } from "../../api/sandbox.ts";

/** Why a connection was not let in, in the words of metrics and logs. */
export const peerRefusals = [
  "Loopback",
  "NoPod",
  "OtherNamespace",
  "NoSandbox",
  "TooManyConnections",
  "NoDescriptors",
] as const;
export type PeerRefusal = (typeof peerRefusals)[number];

export interface PeerQuestion {
  /** In the spelling of `peerAddress`. */
  readonly peer: string;
  /** Pods that have this address in the latest view. */
  readonly pods: readonly Stored<Pod>[];
  /** Of the sandbox. */
  readonly namespace: string;
  readonly allowFrom: NonNullable<AutoResume["allowFrom"]>;
  readonly allowLoopback: boolean;
}

/** Whether a peer may come, by its address alone: undefined if so. Pure. */
export function refusalOfPeer({
  peer,
  pods,
  namespace,
  allowFrom,
  allowLoopback,
}: PeerQuestion): PeerRefusal | undefined {
  if (isLoopback(peer)) return allowLoopback ? undefined : "Loopback";
  const owners = pods.filter(hasItsOwnAddress);
  if (owners.length === 0) return "NoPod";
  if (allowFrom === "Cluster" || owners.some(({ metadata }) => metadata.namespace === namespace)) return undefined;
  return "OtherNamespace";
}

/** Whether a later view of Pods may say otherwise: the watch may lag behind a Pod that has just begun. */
export const mayChange = (refusal: PeerRefusal): boolean =>
  refusal === "NoPod" || refusal === "OtherNamespace" || refusal === "NoSandbox";

/**
 * The other end's address as Pods write theirs. An IPv4 address on a socket of both families is unwrapped; no other
 * embedding is, for those are routes through somebody else.
 */
export function peerAddress(remoteAddress: string): string {
  const plain = remoteAddress.replace(/^::ffff:/i, "");
  return isIPv4(plain) ? plain : remoteAddress.toLowerCase();
}

/** On the host's network a Pod's address is its node's, which is everybody's there. */
const hasItsOwnAddress = ({ spec, status }: Pod) =>
  spec?.hostNetwork !== true && status?.phase !== "Succeeded" && status?.phase !== "Failed";

const isLoopback = (ip: string) => ip === "::1" || (isIPv4(ip) && ip.startsWith("127."));
