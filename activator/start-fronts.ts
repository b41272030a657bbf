import type { Registry } from "prom-client";
import type { WakeTimeline } from "../api/between-programs/wake-timeline.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Logger } from "../lib/log/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { ByNameFront } from "./by-name/by-name-front.ts";
import { openByNameFront } from "./by-name/open-by-name-front.ts";
import type { ActivatorConfig } from "./config/config.ts";
import type { ReplicaState } from "./drain/replica-state.ts";
import type { Exchange } from "./http1/front/exchange.ts";
import type { HeadBudget } from "./http1/front/head-budget.ts";
import { type HttpFronts, startHttpFronts } from "./http1/start-http-fronts.ts";
import { openHttp2 } from "./http2/open-http2-front.ts";
import type { AccessLog } from "./observe/access-log.ts";
import { createConnectionMetrics } from "./observe/connection-metrics.ts";
import { createHeaderRefusals } from "./observe/header-refusals.ts";
import type { RequestMetrics } from "./observe/request-metrics.ts";
import type { WakeMetrics } from "./observe/wake-metrics.ts";
import type { Pool } from "./pod-connections/pool.ts";
import type { Claims } from "./sandbox/claims.ts";
import { type ServeDeps, serve } from "./serve.ts";
import { socketsMax } from "./socket/descriptors.ts";
import { openSockets } from "./socket/open-sockets.ts";
import type { HeaderRefusal } from "./socket/proxy-protocol/awaited-header.ts";
import { HeaderGate, type OpenGate } from "./socket/proxy-protocol/header-gate.ts";
import type { BufferLoans } from "./socket/read-place.ts";
import type { Sweep } from "./sweep.ts";
import { createTcpDeps } from "./tcp-front/connection/create-tcp-deps.ts";
import type { TcpDeps } from "./tcp-front/connection/serve-tcp.ts";
import { openTcpFront } from "./tcp-front/open-tcp-front.ts";
import type { TcpFront } from "./tcp-front/tcp-front.ts";

export interface FrontsParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  readonly heads: HeadBudget;
  readonly pool: Pool;
  readonly claims: Claims;
  readonly requests: RequestMetrics;
  readonly wakes: WakeMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly replicaState: Pick<ReplicaState, "confirmBy">;
  readonly onWake?: (timeline: WakeTimeline) => void;
}

/** All fronts of a replica. */
export interface Fronts extends AsyncDisposable {
  readonly http: HttpFronts;
  /** Undefined: activator ports are disabled. */
  readonly tcp: TcpFront | undefined;
  /** Undefined: the by-name listener is disabled. */
  readonly byName: ByNameFront | undefined;
}

/**
 * Starts every front: each protocol has its call here. They share the limit of sockets, and everything behind them.
 *
 * @throws NoCertificateFiles for HTTPS without a certificate, Error if it cannot listen on a port.
 */
export async function startFronts(
  config: ActivatorConfig,
  deps: ServeDeps<Exchange>,
  parts: FrontsParts,
): Promise<Fronts> {
  await using stack = new AsyncDisposableStack();
  const events = createConnectionMetrics(parts.registry, parts.requests);
  const hasRoom = roomForSockets();
  const openGate = openHeaderGates(config, parts);
  const raw: TcpDeps | undefined =
    config.tcpFront || config.byName ? createTcpDeps(config, deps, parts, () => tcp?.listening ?? 0) : undefined;
  const tcp: TcpFront | undefined =
    raw && config.tcpFront && stack.use(openTcpFront(config.tcpFront, config, raw, { ...parts, hasRoom, openGate }));
  if (tcp) parts.replicaState.confirmBy((request) => tcp.confirm(request));
  const hasRoomBesides = (besides: number) => hasRoom((tcp?.listening ?? 0) + besides);
  const http2 = config.http2 ? openHttp2(config, deps, { ...parts, events, hasRoom: hasRoomBesides }) : undefined;
  const byName =
    raw &&
    config.byName &&
    stack.use(
      await openByNameFront(config.byName, config, raw, { ...parts, openGate, hasRoom: () => hasRoomBesides(0) }),
    );
  const http = stack.use(
    await startHttpFronts(config, {
      ...{ ...parts, events, openGate, hasRoom: () => hasRoomBesides(0) },
      ...{ http2: http2?.front, callOf: http2?.callOf },
      serve: (exchange) => (http2 && exchange.head.grpc ? http2.serveCall(exchange) : serve(exchange, deps)),
    }),
  );
  const started = stack.move();
  return { http, tcp, byName, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** The gates for connections that have to begin with a PROXY header; undefined: none has. */
function openHeaderGates(
  { proxyNetworks: networks, headersTimeoutMs: limitMs }: ActivatorConfig,
  { registry, log, clock, sweep }: FrontsParts,
): OpenGate | undefined {
  if (!networks) return undefined;
  const refused = createHeaderRefusals(registry, log, clock);
  return (listener, onOver) => {
    const onRefused = (reason: HeaderRefusal, peer: string) => refused(listener, reason, peer);
    return new HeaderGate({ networks, limitMs, clock, sweep, onRefused, onOver });
  };
}

/** Whether another socket may be opened, besides that many listeners. */
function roomForSockets(): (besides: number) => boolean {
  const max = socketsMax() ?? Number.POSITIVE_INFINITY;
  return (besides) => openSockets() + besides < max;
}
