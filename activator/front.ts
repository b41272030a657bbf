import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ClientOrigin } from "./socket/client-origin.ts";
import type { WireSocket } from "./socket/wire-socket.ts";

/**
 * What every front does, in any protocol. A front listens for clients and counts their connections. It turns what they send
 * into requests for `serve`, or connects them to a sandbox itself. It is started in `start-fronts.ts`. On shutdown it stops
 * accepting, finishes what is in progress, and is disposed; a disposed front cuts the connections that are left.
 */
export interface Front extends AsyncDisposable {
  /** Stops accepting. Requests and connections in progress continue. */
  stopAccepting(): void;
  /** Resolves once nothing is held or proxied any more. */
  idle(): Promise<void>;
}

/**
 * How long a disposed front waits for what it has cut, in milliseconds: each request and connection has ended then, with its line in
 * the access log.
 */
export const lastClosesMs = 1_000;

/** A front for a protocol with requests. Its clients learn of a shutdown from responses. */
export interface RequestFront extends Front {
  readonly address: AddressInfo;
  /** The number of requests that are held or proxied. */
  readonly active: number;
  /** Every response from now on closes its connection. New connections are still accepted. */
  beginDrain(): void;
  /** Stops accepting and closes idle connections. The clients of busy connections learn it from their next response. */
  stopAccepting(): void;
  /** Closes WebSockets with code 1001, each at the end of the frame that the sandbox is sending. */
  endWebSockets(): void;
  /** Resolves once no request is in progress, and no accepted connection still has its first request to send. */
  idle(): Promise<void>;
}

/** A connection that was accepted and whose client speaks another protocol than the listener's own. */
export interface YieldedConnection {
  /** A `WireSocket` is yielded within the read that recognized the protocol. */
  readonly socket: WireSocket | TLSSocket;
  /** What was read from it. */
  readonly early: Buffer | undefined;
  readonly origin: ClientOrigin;
  /** When its first request must have arrived, in monotonic milliseconds. */
  readonly dueMs: number;
}

/** A front without a listener: other fronts yield connections to it. */
export interface ProtocolFront extends Omit<RequestFront, "address"> {
  adopt(connection: YieldedConnection): void;
}
