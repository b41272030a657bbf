import type { Stored } from "../../api/kinds/meta.ts";
import { effectiveAutoResume } from "../../api/rules/defaults.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { isIgnored } from "../activity/ignored-requests.ts";
import type { PodFences } from "../activity/pod-fences.ts";
import type { Use } from "../activity/use.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import type { HoldDeadlines } from "../hold/hold-deadlines.ts";
import type { HoldLimits } from "../hold/hold-limits.ts";
import { isSamePlace } from "../pod-connections/place.ts";
import type { Prober } from "../readiness/prober.ts";
import type { Leaver, RequestHead } from "../request.ts";
import { type Cluster, longestSilenceMs } from "../sandbox/cluster.ts";
import { type Resolution, resolveSandbox } from "../sandbox/resolve.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { Wake, Waker } from "../wake/waker.ts";
import type { Connector, Upstream } from "./connector.ts";
import type { DialError } from "./dial.ts";
import { holdTimeoutMs } from "./hold-timeout.ts";

export interface ReachOptions {
  /** The upper limit of every hold, whatever the sandbox and the client allow. Milliseconds. */
  readonly proxyTimeoutMs: number;
  readonly unschedulableGraceMs: number | undefined;
  readonly allowLoopbackPodIp: boolean;
  /** How long a port that should be open is retried before the request fails. Milliseconds. */
  readonly dialRetryMs: number;
}

export interface ConnectDeps {
  readonly options: ReachOptions;
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly waker: Waker;
  readonly prober: Prober;
  readonly connector: Pick<Connector, "idle" | "connect" | "begin">;
  readonly holdLimits: HoldLimits;
  /** Those of outsiders, so that outsiders take no slot of others. */
  readonly outsiderLimits: HoldLimits;
  readonly holdDeadlines: HoldDeadlines;
  /** Holds connect requests. `join` resolves or rejects as `reach` does. */
  readonly holds: { join(connectRequest: ConnectRequest): Promise<Upstream> };
  readonly fences: PodFences;
  /** Called when this replica woke a sandbox, for a connection to that port. */
  readonly onWoken: (sandbox: Stored<SlimSandbox>, port: number) => void;
}

/** Observes one connect request, for its record. */
export interface ConnectObserver {
  held(): Disposable;
  woke(wake: Wake): void;
  dialFailed(error: DialError): void;
}

/** A sandbox and its port. A request that named them adds its other routing headers. */
export type Destination = Pick<Routed, "namespace" | "name" | "port"> & Partial<Routed>;

/** The client of a connect request: a request or a raw connection. */
export interface ConnectClient extends Leaver {
  /** Monotonic milliseconds at its arrival. */
  readonly seenMs: number;
  /** Absent for a raw connection: no rule by path or user agent applies, there is no wait page, and the connection is always new. */
  readonly head?: RequestHead;
  /** The most that is kept of a raw connection while it is held, in bytes. */
  readonly keptBytesMax?: number;
}

/** A client, authorized, that wants a connection to a sandbox. */
export interface ConnectRequest {
  /** The client is an outsider: it has shown no credential, and is no Pod of the namespace. The owner lets everybody in. */
  readonly isOutsider?: boolean;
  readonly to: Destination;
  readonly client: ConnectClient;
  readonly deps: ConnectDeps;
  readonly observer: ConnectObserver;
  readonly use: Use;
}

/** Resolves the sandbox now. Without a head no rule about requests applies. */
export function resolveNow(
  to: Destination,
  head: RequestHead | undefined,
  firstUid: string | undefined,
  { cluster, clock, fences, options }: Pick<ConnectDeps, "cluster" | "clock" | "fences" | "options">,
): Resolution {
  const now = clock.now();
  const nowMs = clock.ticksMs();
  const silentMs = cluster.silentMs({ wallMs: now.getTime(), ticksMs: nowMs });
  if (silentMs > longestSilenceMs) return { is: "refused", error: new ActivatorError("ClusterUnseen") };
  if (!cluster.synced) return { is: "pending", on: "the first view of the cluster", recheckAfterMs: 100 };
  const sandbox = cluster.sandbox(to.namespace, to.name);
  const { allowLoopbackPodIp, unschedulableGraceMs } = options;
  return resolveSandbox({
    routed: to,
    sandbox,
    firstUid: firstUid ?? to.uid,
    allowLoopbackPodIp,
    unschedulableGraceMs,
    pod: sandbox && cluster.podOf(sandbox),
    fences: fences.of(sandbox?.metadata.uid ?? ""),
    ignored: isIgnored(head, sandbox?.spec.autoSuspension),
    now,
    nowMs,
    sightings: cluster,
    validForMs: longestSilenceMs - silentMs,
  });
}

/** Begins the use of the sandbox, as soon as the sandbox is known. Returns whether it is known. */
export function beginUse({ to, use, deps: { cluster } }: ConnectRequest): boolean {
  const sandbox = cluster.synced ? cluster.sandbox(to.namespace, to.name) : undefined;
  if (sandbox) use.begin(sandbox);
  return sandbox !== undefined;
}

/** How long a connect request may be held in total, by the limits of sandbox, client and activator. Milliseconds. */
export function holdForMs({ to, deps: { cluster, options } }: ConnectRequest): number {
  const { timeoutSeconds } = effectiveAutoResume(cluster.sandbox(to.namespace, to.name)?.spec ?? {});
  return holdTimeoutMs(timeoutSeconds * 1000, to.timeoutMs, options.proxyTimeoutMs);
}

/** The rest of that time, in milliseconds. */
export const holdLeftMs = (connectRequest: ConnectRequest): number =>
  holdForMs(connectRequest) - (connectRequest.deps.clock.ticksMs() - connectRequest.client.seenMs);

/**
 * Marks the use as sent if that place may still be sent to. Otherwise it closes the connection, and the request waits again. The
 * Pod may have been fenced, seen gone, or seen at another address during the dial, so the sandbox is resolved again in the step that marks.
 */
export function commit({ target, socket, isShared }: Upstream, { to, client, deps, use }: ConnectRequest): boolean {
  const seen = resolveNow(to, client.head, undefined, deps);
  const mayGo = seen.is === "addressed" && isSamePlace(seen.target, target);
  if (mayGo) use.sentTo(target.podUid);
  else if (!isShared) socket.destroy();
  return mayGo;
}
