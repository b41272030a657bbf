import type { Clock } from "../../../lib/time/clock.ts";
import type { Pool } from "../../pod-connections/pool.ts";
import type { ProxyRequest } from "../../proxy-interface.ts";
import type { BufferLoans } from "../../socket/read-place.ts";
import type { Sweep } from "../../sweep.ts";
import type { Exchange } from "../front/exchange.ts";
import type { HeadBudget } from "../front/head-budget.ts";
import { ExchangeProxy } from "./exchange-proxy.ts";

export interface Http1ProxyOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  /** Shared with all fronts. */
  readonly heads: HeadBudget;
  readonly maxHeaderBytes: number;
  /** 0: unlimited. */
  readonly maxRequestBodyBytes: number;
  /** The maximum pause of a client within its request, in milliseconds. */
  readonly proxyTimeoutMs: number;
  /** The maximum time without a byte of a response, in milliseconds; 0: unlimited. */
  readonly streamIdleMs: number;
  /** The maximum duration of an exchange from its first byte to the sandbox, in milliseconds; 0: unlimited. */
  readonly totalMs: number;
  readonly tunnelIdleMs: number;
  readonly tunnelLifetimeMs: number;
}

/** Proxies HTTP/1.1 on a connection that was established before. */
export function createHttp1Proxy(options: Http1ProxyOptions): ProxyRequest<Exchange> {
  return (exchange, upstream, how) => new ExchangeProxy(exchange, upstream, how, options).run();
}
