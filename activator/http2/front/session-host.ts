import type { ServerOptions } from "node:http2";
import type { HeadBudget } from "../../http1/front/head-budget.ts";
import type { Offence } from "../offences.ts";
import type { ClientSession } from "./client-session.ts";
import type { RequestReader } from "./request-reader.ts";
import type { StreamHost } from "./stream-host.ts";

/** The shared state of the connections of one front. */
export interface SessionHost extends StreamHost {
  readonly requests: RequestReader;
  readonly sessionOptions: ServerOptions;
  /** Counts heads and trailers that clients have begun and not ended. */
  readonly heads: HeadBudget;
  /** The maximum size of the fields of one head, as HTTP/2 counts them. */
  readonly listBytesMax: number;
  /** Whether each connection is to end once its streams have. */
  readonly draining: boolean;
  /** Whether no further stream is accepted. */
  readonly leaving: boolean;
  /** A stream was refused because there are too many. */
  streamRefused(): void;
  /** A stream has arrived. `settled` follows when it begins. */
  expected(): void;
  /** An expected request has begun, or never will: a stream, or the first one of a connection. */
  settled(): void;
  broke(offence: Offence): void;
  closed(session: ClientSession): void;
}
