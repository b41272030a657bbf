import type { ActivatorError } from "../../failures/errors-for-clients.ts";
import type { Sweep } from "../../sweep.ts";
import type { StreamExchange, Tunnel } from "./stream-exchange.ts";

/** The shared state of the streams of one front. */
export interface StreamHost {
  readonly sweep: Sweep;
  readonly keepAliveTimeoutMs: number;
  /** The maximum pause of a client within a response, in milliseconds; 0: unlimited. */
  readonly streamIdleMs: number;
  nowMs(): number;
  began(exchange: StreamExchange): void;
  ended(exchange: StreamExchange): void;
  /** A request was rejected before it was served. */
  refused(error: ActivatorError): void;
  opened(tunnel: Tunnel): void;
  tunnelClosed(tunnel: Tunnel): void;
}
