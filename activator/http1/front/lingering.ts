import { TurnoverSet } from "../../../lib/data/turnover.ts";

/** The limit for a pause of a client that has sent its whole request, in milliseconds. */
const quietMs = 2_000;
/** The limit for a pause of a client that may still be sending, in milliseconds. */
const pauseMs = 5_000;
/** The limit for all that a client sends after its last answer, in milliseconds. */
const totalMs = 30_000;
/** The same limit in bytes. */
const bytesMax = 268_435_456;
/** The maximum number of clients that send after their last answer, for each front. */
const clientsMax = 1_000;

/** A connection whose answer is written. */
export interface AnsweredClient {
  /** Closes the connection at once. */
  cut(): void;
}

/**
 * Clients that still send after the last answer on their connection. What they send is read and dropped: if the kernel closes a
 * connection with unread bytes, it resets it, and the client may lose the answer (RFC 9112, 9.6). Beyond the maximum number the
 * connection that was answered first is closed.
 */
export class LingeringClients {
  readonly #clients = new TurnoverSet<AnsweredClient>();

  get size(): number {
    return this.#clients.size;
  }

  join(client: AnsweredClient): void {
    this.#clients.add(client);
    if (this.#clients.size <= clientsMax) return;
    const [first] = this.#clients;
    if (!first) return;
    this.#clients.delete(first);
    first.cut();
  }

  leave(client: AnsweredClient): void {
    this.#clients.delete(client);
  }
}

/** The limits of one such connection. */
export class Linger {
  readonly #client: AnsweredClient;
  readonly #all: LingeringClients;
  readonly #untilMs: number;
  #bytes = 0;
  /** When the connection is closed, in monotonic milliseconds. */
  dueMs: number;

  /** `isSending`: the client has not sent its whole request. */
  constructor(client: AnsweredClient, all: LingeringClients, nowMs: number, isSending: boolean) {
    this.#client = client;
    this.#all = all;
    this.#untilMs = nowMs + totalMs;
    this.dueMs = nowMs + (isSending ? pauseMs : quietMs);
    if (isSending) all.join(client);
  }

  /** The client has sent everything, and its connection stays open. */
  over(): undefined {
    this.#all.leave(this.#client);
  }

  /** The client has sent so many bytes more. */
  dropped(length: number, nowMs: number): void {
    if (this.#bytes === 0) this.#all.join(this.#client);
    this.#bytes += length;
    this.dueMs = Math.min(nowMs + pauseMs, this.#untilMs);
    if (this.#bytes > bytesMax) this.#client.cut();
  }
}
