import type { Clock } from "../../lib/time/clock.ts";
import type { ActivatorConfig } from "../config/config.ts";
import type { ConnectDeps } from "../connect/connect-request.ts";
import type { ProtocolFront } from "../front.ts";
import type { ConnectionHost } from "../http1/front/connection-host.ts";
import type { Exchange } from "../http1/front/exchange.ts";
import type { HeadBudget } from "../http1/front/head-budget.ts";
import { idleLimits } from "../pod-connections/idle-limits.ts";
import type { Pool } from "../pod-connections/pool.ts";
import { type ServeDeps, serve } from "../serve.ts";
import { socketsMax } from "../socket/descriptors.ts";
import type { BufferLoans } from "../socket/read-place.ts";
import type { Sweep } from "../sweep.ts";
import { type Http2Events, Http2Front, type Http2FrontParts } from "./front/http2-front.ts";
import type { StreamExchange } from "./front/stream-exchange.ts";
import { CallConnector } from "./grpc/call-connector.ts";
import { PodSessions } from "./grpc/pod-sessions.ts";
import { createWebProxy } from "./grpc-web/create-web-proxy.ts";
import { callOfWire, webCallReader } from "./grpc-web/read-web-call.ts";
import { createHttp2Proxy } from "./proxy/create-http2-proxy.ts";
import { WaitingBudget, type WaitingEvents } from "./waiting-budget.ts";

export interface Http2Parts {
  readonly clock: Clock;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  readonly heads: HeadBudget;
  readonly pool: Pool;
  readonly events: Http2Events & WaitingEvents;
  readonly hasRoom: Http2FrontParts["hasRoom"];
}

/** What HTTP/2 adds to the fronts. */
export interface Http2 {
  /** Serves the connections whose clients speak HTTP/2. */
  readonly front: ProtocolFront;
  /** Reads calls of gRPC-Web from heads of HTTP/1.1. */
  readonly callOf: ConnectionHost["callOf"];
  /** Serves such a call; never rejects. */
  serveCall(exchange: Exchange): Promise<void>;
}

/** Opens the front for HTTP/2. Its streams take the same steps as requests of HTTP/1.1, up to the proxy. */
export function openHttp2(config: ActivatorConfig, deps: ServeDeps<Exchange>, parts: Http2Parts): Http2 {
  const { clock, sweep } = parts;
  const sessions = new PodSessions(idleLimits(config.maxIdleUpstream, socketsMax()), clock, sweep);
  const waiting = new WaitingBudget(parts.events, sweep);
  const options = { ...config, ...parts, sessions, waiting };
  const ofRequests: ServeDeps<StreamExchange> = { ...deps, proxy: createHttp2Proxy(options) };
  // Requests of all protocols share a hold, which may give any of them any connection that it has.
  const holds: ConnectDeps["holds"] = {
    join: (connectRequest) => deps.holds.join({ ...connectRequest, deps }),
  };
  const connector = new CallConnector(deps.connector, sessions);
  const ofCalls: ServeDeps<StreamExchange> = { ...ofRequests, holds, connector };
  const ofWebCalls: ServeDeps<Exchange> = { ...deps, holds, connector, proxy: createWebProxy(options) };
  const webCallOf = webCallReader(config);
  const front = new Http2Front(config, {
    ...{ ...parts, webCallOf, waiting },
    serve: (exchange) => serve(exchange, exchange.head.grpc ? ofCalls : ofRequests),
    dispose: () => sessions[Symbol.dispose](),
  });
  return { front, callOf: callOfWire(webCallOf), serveCall: (exchange) => serve(exchange, ofWebCalls) };
}
