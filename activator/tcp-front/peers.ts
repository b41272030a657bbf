import { isIPv4 } from "node:net";
import type { Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { AutoResume } from "../../api/kinds/sandbox.ts";
import type { PeerRefusal } from "./connection/refusals.ts";

export interface PeerQuestion {
  /** By `peerAddress`. */
  readonly peer: string;
  /** The Pods with this address in the latest view. */
  readonly pods: readonly Stored<Pod>[];
  /** Of the sandbox. */
  readonly namespace: string;
  readonly allowFrom: NonNullable<AutoResume["allowFrom"]>;
  readonly allowLoopback: boolean;
}

/** Why a peer is rejected by its address alone; undefined: it is not. Pure. */
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
  const admitsAll = allowFrom === "Cluster" || allowFrom === "Any"; // `Any` adds a way in, for names in TLS
  if (admitsAll || owners.some(({ metadata }) => metadata.namespace === namespace)) return undefined;
  return "OtherNamespace";
}

/** Whether a later view of Pods may change the result: the watch may lag behind a new Pod. */
export const mayChange = (refusal: PeerRefusal): boolean =>
  refusal === "NoPod" || refusal === "OtherNamespace" || refusal === "NoSandbox";

/** The address of a Pod on the host's network is its node's, which other programs share. */
const hasItsOwnAddress = ({ spec, status }: Pod) =>
  spec?.hostNetwork !== true && status?.phase !== "Succeeded" && status?.phase !== "Failed";

const isLoopback = (ip: string) => ip === "::1" || (isIPv4(ip) && ip.startsWith("127."));
