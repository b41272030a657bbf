import type { Clock } from "../../lib/time/clock.ts";
import type { ActivatorConfig } from "../config/config.ts";
import type { ProtocolFront } from "../front.ts";
import type { HeadBudget } from "../http1/front/head-budget.ts";
import { idleLimits } from "../pod-connections/idle-limits.ts";
import type { Pool } from "../pod-connections/pool.ts";
import type { Incoming } from "../request.ts";
import { type ServeDeps, serve } from "../serve.ts";
import { socketsMax } from "../socket/descriptors.ts";
import type { BufferLoans } from "../socket/read-place.ts";
import type { Sweep } from "../sweep.ts";
import { type Http2Events, Http2Front, type Http2FrontParts } from "./front/http2-front.ts";
import type { StreamExchange } from "./front/stream-exchange.ts";
import { CallConnector } from "./grpc/call-connector.ts";
import { PodSessions } from "./grpc/pod-sessions.ts";
import { createHttp2Proxy } from "./proxy/create-http2-proxy.ts";

export interface Http2Parts {
  readonly clock: Clock;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  readonly heads: HeadBudget;
  readonly pool: Pool;
  readonly events: Http2Events;
  readonly hasRoom: Http2FrontParts["hasRoom"];
}

/** Opens the front for HTTP/2. Its streams take the same steps as requests of HTTP/1.1, up to the proxy. */
export function openHttp2Front<I extends Incoming>(
  config: ActivatorConfig,
  deps: ServeDeps<I>,
  parts: Http2Parts,
): ProtocolFront {
  const { clock, sweep } = parts;
  const sessions = new PodSessions(idleLimits(config.maxIdleUpstream, socketsMax()), clock, sweep);
  const ofRequests: ServeDeps<StreamExchange> = {
    ...deps,
    proxy: createHttp2Proxy({ ...config, ...parts, sessions }),
  };
  // Requests of all protocols share a hold, which may give any of them any connection that it has.
  const waits: ServeDeps<StreamExchange>["waits"] = {
    join: (connectRequest) => deps.waits.join({ ...connectRequest, deps: ofRequests }),
  };
  const connector = new CallConnector(deps.connector, sessions);
  const ofCalls: ServeDeps<StreamExchange> = { ...ofRequests, waits, connector };
  return new Http2Front(config, {
    ...parts,
    serve: (exchange) => serve(exchange, exchange.head.grpc ? ofCalls : ofRequests),
    dispose: () => sessions[Symbol.dispose](),
  });
}
