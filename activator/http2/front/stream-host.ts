import type { ActivatorError } from "../../failures/errors-for-clients.ts";
import type { Sweep } from "../../sweep.ts";
import type { StreamRoom } from "../room/stream-room.ts";
import type { WaitHost } from "../stream-wait.ts";
import type { StreamExchange } from "./stream-exchange.ts";

/** What a stream has become that is no request any more. */
export interface Tunnel {
  /** Ends its protocol. Returns whether a close frame was sent: then the tunnel ends the stream. */
  endGracefully(): boolean;
  /** Both sides have ended, and the sandbox has yet to take what the client sent: it calls `delivered` then. */
  readonly isDelivering: boolean;
}

/** The shared state of the streams of one front. */
export interface StreamHost extends WaitHost {
  readonly sweep: Sweep;
  readonly keepAliveTimeoutMs: number;
  /** The maximum pause of a client within a response, in milliseconds; 0: unlimited. */
  readonly streamIdleMs: number;
  /** Places for requests in progress. */
  readonly room: StreamRoom;
  nowMs(): number;
  began(exchange: StreamExchange): void;
  ended(exchange: StreamExchange): void;
  /** A request was rejected before it was served. */
  refused(error: ActivatorError): void;
  opened(tunnel: Tunnel): void;
  tunnelClosed(tunnel: Tunnel): void;
}
