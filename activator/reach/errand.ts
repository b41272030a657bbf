import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Use } from "../activity/activity.ts";
import type { BondBook } from "../activity/bond-book.ts";
import { isIgnored } from "../activity/ignored-requests.ts";
import { ActivatorError } from "../errors.ts";
import type { Routed } from "../find/find.ts";
import type { Leaver, RequestHead } from "../request.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import { type Look, look } from "../sandbox/look.ts";
import type { Slots } from "../slots.ts";
import type { Wake, Waker } from "../wake/waker.ts";
import type { Connector, Upstream } from "./connector.ts";
import type { DialError } from "./dial.ts";
import type { Holds } from "./holds.ts";
import type { Prober } from "./prober.ts";

export interface ReachOptions {
  /** No request is held longer, whatever the sandbox and the client allow. */
  readonly proxyTimeoutMs: number;
  readonly unschedulableGraceMs: number | undefined;
  readonly allowLoopbackPodIp: boolean;
  /** How long a port that ought to be open is tried before the client is told. */
  readonly dialRetryMs: number;
}

export interface Surroundings {
  readonly options: ReachOptions;
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly waker: Waker;
  readonly prober: Prober;
  readonly connector: Connector;
  readonly slots: Slots;
  readonly holds: Holds;
  /** Where errands are held; `join` resolves or throws as `reach` does. */
  readonly waits: { join(errand: Errand): Promise<Upstream> };
  readonly bonds: BondBook;
  /** A sandbox runs because this replica asked for it, for a connection to that port. */
  readonly onWoken: (sandbox: Stored<Sandbox>, port: number) => void;
}

/** What happens to one errand on its way, for whoever keeps its record. */
export interface Journey {
  held(): Disposable;
  woke(wake: Wake): void;
  dialFailed(error: DialError): void;
}

/** After so long without an answer from the API server, addresses may belong to others. */
const longestSilenceMs = 120_000;

/** Which sandbox, and which port of it; where it was named by a request, what else that said. */
export type Destination = Pick<Routed, "namespace" | "name" | "port"> &
  Partial<Routed> & {
    /** Of the one that is meant, where it was not named by name alone: another of that name is not it. */
    readonly uid?: string;
  };

/** Who waits to be brought to a sandbox: a request, or a connection that is no HTTP. */
export interface Waiting extends Leaver {
  /** Monotonic milliseconds of the clock when it was there. */
  readonly seenMs: number;
  /** Without one no rule by path or user agent applies, nobody is shown a page, and the connection is always a fresh one. */
  readonly head?: RequestHead;
}

/** Somebody who is to be brought to a sandbox, and may be. */
export interface Errand {
  readonly to: Destination;
  readonly waiting: Waiting;
  readonly around: Surroundings;
  readonly journey: Journey;
  readonly use: Use;
}

/** What a sandbox is to whoever asks for it now. Without a head no rule about requests applies. */
export function lookNow(
  to: Destination,
  head: RequestHead | undefined,
  firstUid: string | undefined,
  { cluster, clock, bonds: book, options }: Surroundings,
): Look {
  if (cluster.silentMs() > longestSilenceMs) return { is: "refused", error: new ActivatorError("ClusterUnseen") };
  if (!cluster.synced) return { is: "pending", on: "the first view of the cluster", recheckAfterMs: 100 };
  const sandbox = cluster.sandbox(to.namespace, to.name);
  const { allowLoopbackPodIp, unschedulableGraceMs } = options;
  return look({
    routed: to,
    sandbox,
    firstUid: firstUid ?? to.uid,
    allowLoopbackPodIp,
    unschedulableGraceMs,
    pod: sandbox && cluster.podOf(sandbox),
    bonds: book.of(sandbox?.metadata.uid ?? ""),
    ignored: isIgnored(head, sandbox?.spec.autoSuspension),
    now: clock.now(),
  });
}

/** Who waits for a sandbox uses it from the moment that it is known; returns whether it is. */
export function beginUse({ to, use, around: { cluster } }: Errand): boolean {
  const sandbox = cluster.synced ? cluster.sandbox(to.namespace, to.name) : undefined;
  if (sandbox) use.begin(sandbox);
  return sandbox !== undefined;
}

/**
 * Counts as sent what waited, if that Pod may still be sent to; if not, the connection is closed and the wait goes on.
 * While it dialled, that Pod may have been forsworn, and seen gone: so all is looked at anew, in the step that counts.
 */
export function commit({ target: { podUid }, socket }: Upstream, { to, waiting, around, use }: Errand): boolean {
  const seen = lookNow(to, waiting.head, undefined, around);
  const mayGo = seen.is === "addressed" && seen.target.podUid === podUid;
  if (mayGo) use.sentTo(podUid);
  else socket.destroy();
  return mayGo;
}
