import type { TraceHeaders } from "../lib/tracing/tracer.ts";
import type { OpenConnection } from "./activity/open-connections.ts";
import type { Use } from "./activity/use.ts";
import type { Upstream } from "./connect/connector.ts";
import type { HiddenCredentials, NamedBy } from "./headers/base-path.ts";
import type { Started } from "./headers/started-header.ts";
import type { Incoming } from "./request.ts";

/** What changes the fields of a response, see `headers/`. */
export interface ResponseRules extends NamedBy, Started {}

export interface ProxyRequestOptions extends ResponseRules {
  /** The name of the sandbox, for error texts. */
  readonly subject: string;
  readonly consumesAuthorization: boolean;
  /** What the request may hold for the activator besides `Authorization`; absent: nothing. */
  readonly hidden?: HiddenCredentials | undefined;
  /** Headers of our trace, in place of the client's; undefined: the client's are forwarded. */
  readonly trace: TraceHeaders | undefined;
  /** The limit until the sandbox begins its response, in milliseconds. */
  readonly responseStartMs: number;
  /** Called when the first byte of the request was written to the Pod's connection. */
  readonly use: Pick<Use, "dispatched">;
  /** Called when the first byte of the response arrived. */
  readonly onFirstByte: () => void;
  /** Called when the connection may stay open for long. The listener is called for data that moves on it. */
  readonly onOpen?: (connection: OpenConnection) => OpenListener;
}

/** Called for data on an open connection, but not for traffic that only keeps it open, as the pings of a WebSocket. */
export interface OpenListener {
  /** Bytes of the client arrived, and none of them was forwarded. A connection to a fenced Pod closes now, and forwards none. */
  clientSends(): void;
  /** Data passed that is no question and no answer. */
  moved(): void;
  /** The client sent data: work for the sandbox until the sandbox sends data. */
  clientSpoke(): void;
  /** The sandbox sent data, which answers everything the client sent. */
  sandboxSpoke(): void;
  /** The client has sent all: from now on this is a request in progress, whatever `openConnections` says. */
  requestEnded(): void;
  /**
   * The sandbox has done its part: its use ends, and nothing that happens to its Pod concerns the connection any more, although the
   * client may still have to take what the activator holds (decision 54).
   */
  sandboxEnded(): void;
}

/** Forwards a request to a sandbox and its response back. No other part reads bodies. */
export type ProxyRequest<I extends Incoming> = (
  incoming: I,
  upstream: Upstream,
  options: ProxyRequestOptions,
) => Promise<void>;
