import type { Upstream } from "../reach/connector.ts";
import type { Incoming } from "../request.ts";

export interface CarryOptions {
  /** The sandbox's name for error texts. */
  readonly subject: string;
  /** Header rules differ: see `forward-headers.ts`. */
  readonly byHost: boolean;
  readonly consumesAuthorization: boolean;
  /** How long the sandbox may take to begin its response. */
  readonly responseStartMs: number;
  /** Called when the first byte of the response has come. */
  readonly onFirstByte: () => void;
}

/** Takes a request to a sandbox and its response back. The only part that knows what a body is. */
export type Carry<I extends Incoming> = (incoming: I, upstream: Upstream, options: CarryOptions) => Promise<void>;
