import type { TraceHeaders } from "../../lib/tracing/tracer.ts";
import type { OpenConnection } from "../activity/open-connections.ts";
import type { Upstream } from "../reach/connector.ts";
import type { Incoming } from "../request.ts";

export interface CarryOptions {
  /** The sandbox's name for error texts. */
  readonly subject: string;
  /** Header rules differ: see `forward-headers.ts`. */
  readonly byHost: boolean;
  readonly consumesAuthorization: boolean;
  /** Headers that continue our trace, in place of the client's; undefined: the client's go on. */
  readonly trace: TraceHeaders | undefined;
  /** How long the sandbox may take to begin its response. */
  readonly responseStartMs: number;
  /** Called when the first byte of the response has come. */
  readonly onFirstByte: () => void;
  /** Called when what is carried becomes a connection that may stay open for long; hears what moves on it. */
  readonly onOpen?: (connection: OpenConnection) => OpenListener;
}

export interface OpenListener {
  /** Something that counts has passed, in either direction: not the pings of a WebSocket. */
  moved(): void;
}

/** Takes a request to a sandbox and its response back. The only part that knows what a body is. */
export type Carry<I extends Incoming> = (incoming: I, upstream: Upstream, options: CarryOptions) => Promise<void>;
