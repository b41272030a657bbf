import type { ActivatorError } from "../../failures/errors-for-clients.ts";
import type { GrpcCall } from "../../request.ts";
import type { BufferLoans } from "../../socket/read-place.ts";
import type { RequestHead } from "../parse/request-head.ts";
import type { RequestHeadParser } from "../parse/request-head-parser.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { Exchange } from "./exchange.ts";
import type { HandshakeFailure } from "./handshakes.ts";
import type { HeadBudget } from "./head-budget.ts";
import type { LingeringClients } from "./lingering.ts";

/** Events of the front, for metrics. */
export interface FrontEvents {
  connected(): void;
  disconnected(): void;
  /** A connection was closed because of too many connections, or too many sockets of the process. */
  dropped(): void;
  /** A connection sent no valid request. */
  refused(error: ActivatorError): void;
  /** A TLS connection ended before the end of its handshake. */
  handshakeFailed(failure: HandshakeFailure): void;
  /** A TLS connection was cut because it brought too many bytes without data. */
  overheadCut(): void;
}

/** The shared state of the connections of one front. */
export interface ConnectionHost {
  /** Parses heads that arrive in one piece, for all connections. */
  readonly parser: RequestHeadParser;
  readonly loans: BufferLoans;
  readonly heads: HeadBudget;
  /** The call of gRPC-Web that a request is; undefined: it is none. Absent: there are no such calls. */
  readonly callOf?: ((head: RequestHead) => GrpcCall | undefined) | undefined;
  readonly lingering: LingeringClients;
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** The maximum pause of a client within a response, in milliseconds; 0: unlimited. */
  readonly streamIdleMs: number;
  /** Whether each response is the last of its connection. */
  readonly draining: boolean;
  readonly accepting: boolean;
  /** Gives the parser to the caller and creates another. */
  giveParser(): RequestHeadParser;
  nowMs(): number;
  began(exchange: Exchange): void;
  ended(exchange: Exchange): void;
  /** A request was rejected before it was parsed. */
  refused(error: ActivatorError): void;
  closed(connection: ClientConnection): void;
  /** The client speaks HTTP/2. Returns whether another front took over the socket, with the bytes of the current read. */
  yielded(connection: ClientConnection, early: Buffer): boolean;
}
