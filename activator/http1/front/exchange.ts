import { STATUS_CODES } from "node:http";
import { toResponse } from "../../answer.ts";
import type { ActivatorError } from "../../errors.ts";
import type { Ended, Incoming, Synthetic } from "../../request.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { ClientRequest } from "./client-request.ts";
import type { RequestBody } from "./request-body.ts";

/** The client's connection, as far as an exchange on it needs it. */
export interface ExchangeConnection {
  readonly socket: WireSocket;
  /** Whether this exchange is to be the last: we are leaving, or the client has ended its side. */
  readonly closing: boolean;
  /** The response is written; `last`: the connection ends with it. */
  responded(last: boolean): void;
  /** The request is on its way: from here on half a connection is enough. */
  carried(): void;
  /** The exchange has ended, and whoever waited for that has been told. */
  over(exchange: Exchange): void;
  /** Reads on, if nothing speaks against it. */
  readOn(): void;
  /** Takes what was read behind the request and lets go of the socket, which is no longer HTTP. */
  handOver(): Buffer | undefined;
  /** The socket that was handed over is closed. */
  closed(): void;
}

/** Who carries an exchange, as far as the client's side must tell it something. */
export interface Carrying {
  clientLeft(): void;
  clientDrained(): void;
}

/** One HTTP/1.1 request and its response, as the middle of the activator and the carrier see it. */
export class Exchange implements Incoming {
  readonly head: ClientRequest;
  readonly body: RequestBody;
  readonly seenMs: number;
  readonly connection: ExchangeConnection;
  /** Body bytes sent to the client so far. */
  bytesOut = 0;
  #carrying: Carrying | undefined;
  #status = 0;
  #responded = false;
  #left = false;
  #onLeave: (() => void) | undefined;
  #ended: Ended | undefined;
  readonly #onEnded: ((ended: Ended) => void)[] = [];

  constructor(connection: ExchangeConnection, head: ClientRequest, body: RequestBody, seenMs: number) {
    this.connection = connection;
    this.head = head;
    this.body = body;
    this.seenMs = seenMs;
  }

  /** Whether the client has left, or what it sends is malformed. */
  get left(): boolean {
    return this.#left;
  }

  onLeave(listener: (() => void) | undefined): void {
    this.#onLeave = listener;
  }

  get answerable(): boolean {
    return this.#status === 0 && this.connection.socket.writable;
  }

  get carrying(): Carrying | undefined {
    return this.#carrying;
  }

  /** Whether a response was written to its end. */
  get responded(): boolean {
    return this.#responded;
  }

  /** There is a connection to the sandbox, and who has it hears of the client from now on. */
  carriedBy(carrying: Carrying): void {
    this.#carrying = carrying;
    this.connection.carried();
  }

  answer({ status, headers, body }: Synthetic): void {
    const bytes = Buffer.from(body);
    const last = this.begin(status, false);
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
    for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
    text += `Content-Length: ${bytes.length}\r\n${this.connectionLine(last)}\r\n`;
    if (this.head.method !== "HEAD") {
      text += bytes.toString("latin1");
      this.bytesOut += bytes.length;
    }
    this.connection.socket.write(text, "latin1");
    this.finish(last);
  }

  /** The response begins. Whether the connection must end with it, for what follows on it would be ambiguous. */
  begin(status: number, unframed: boolean): boolean {
    this.#status = status;
    const { head, body, connection } = this;
    return (
      unframed || connection.closing || head.upgrade || !head.wire.keepsAlive || (status >= 400 && !body.complete) // nobody reads the rest of the request
    );
  }

  /** What the response says about the connection. */
  connectionLine(last: boolean): string {
    if (last) return "Connection: close\r\n";
    return this.head.wire.minorVersion === 0 ? "Connection: keep-alive\r\n" : "";
  }

  /** The response is written. A connection whose request was not read to its end cannot carry another. */
  finish(last: boolean): void {
    this.#responded = true;
    this.connection.responded(last || !this.body.complete);
  }

  /** Everything written has left, or will never leave. */
  over(): void {
    if (this.#ended) return;
    this.#ended = { status: this.#status || 499, bytesOut: this.bytesOut };
    for (const listener of this.#onEnded) listener(this.#ended);
    this.#onEnded.length = 0;
    this.connection.over(this);
  }

  onEnded(listener: (ended: Ended) => void): void {
    if (this.#ended) listener(this.#ended);
    else this.#onEnded.push(listener);
  }

  abort(): void {
    if (!this.#responded) this.connection.socket.destroy();
  }

  /** What the client sends is no HTTP: it is told so if nothing was sent yet, and the request ends here. */
  spoil(error: ActivatorError): void {
    if (this.answerable) this.answer(toResponse(error));
    else this.connection.socket.destroy();
    this.leave();
  }

  /** The client has left: whoever waits or carries stops. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#onLeave?.();
    this.#carrying?.clientLeft();
  }
}
