import type { ActivatorError } from "../../failures/errors-for-clients.ts";
import type { ClientRequest } from "../../http1/front/client-request.ts";
import type { HeaderPair } from "../../request.ts";
import type { StreamListener } from "../front/stream-exchange.ts";

/** Takes the messages of a call as they arrive. */
export interface CallBodySink {
  /** Whether it can take more now. */
  readonly wantsBody: boolean;
  /** Nothing else changes these bytes. */
  bodyBytes(bytes: Buffer): void;
  bodyEnded(): void;
  /** What arrives is not in the form of the call. */
  bodySpoilt(error: ActivatorError): void;
}

/** The client of a call, as the proxy sees it, whatever protocol carries the call. */
export interface CallClient {
  readonly head: ClientRequest;
  /** Monotonic milliseconds at the end of the head. */
  readonly seenMs: number;
  readonly left: boolean;
  /** The fields of the request. */
  readonly fields: readonly HeaderPair[];
  /** Bytes of its body so far, as they came. */
  readonly bodyLength: number;
  /** The call has a connection to the sandbox; the listener is called for events of the client from now on. */
  proxiedBy(listener: StreamListener): void;
  /** Sends to the sink what was kept of the body, and all that comes later. */
  pourInto(sink: CallBodySink): void;
  /** Bytes have arrived that the proxy keeps for a side that may be slow. */
  bytesArrived(): void;
  /** Reads on if the sink takes more. */
  readOn(): void;
  /** The rest of the body is dropped. */
  discard(): void;
  /** Whether the client takes more of the response now. If not, the listener is called later. */
  readonly takesMore: boolean;
  /** Bytes of the response that are written and not sent. */
  readonly queuedBytes: number;
  /** The response begins. `isWhole`: its fields are all, and say how the call ended. */
  respond(status: number, fields: readonly HeaderPair[], isWhole: boolean): void;
  write(bytes: Buffer): void;
  /** Ends a response that has begun. The trailers say how the call ended. */
  end(trailers: readonly HeaderPair[]): void;
  /** Tells the client that no program has seen its call; absent: its protocol has no way to say that. */
  readonly refuse?: (() => void) | undefined;
  /** Cuts the response, so that the client does not take it for complete. */
  abort(): void;
}
