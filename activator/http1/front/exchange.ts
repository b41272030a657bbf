import { STATUS_CODES } from "node:http";
import { runGuarded } from "../../../lib/guard/guard.ts";
import { toResponse } from "../../failures/error-response.ts";
import type { ActivatorError } from "../../failures/errors-for-clients.ts";
import { bytesOf, type Ended, type HeaderPair, type Incoming, type Synthetic } from "../../request.ts";
import type { ReadPlace } from "../../socket/read-place.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { ClientRequest } from "./client-request.ts";
import type { RequestBody } from "./request-body.ts";

/** The part of the client's connection that an exchange calls. */
export interface ExchangeConnection {
  readonly socket: WireSocket;
  /** Whether this exchange is the last: the activator drains, or the client has ended its side. */
  readonly closing: boolean;
  /** The response is written. */
  responded(): void;
  /**
   * The response was sent, and nothing more of the request goes to the sandbox. The rest of the request is read and dropped,
   * unless the response said that the connection closes. May be called more than once.
   */
  concluded(exchange: Exchange): void;
  /** The request is being proxied to a sandbox of that namespace: from now on a half-closed connection is kept. */
  proxied(namespace: string | undefined): void;
  /** The exchange has ended, and its listeners were called. */
  over(exchange: Exchange): void;
  /**
   * Hands over the socket, which is no longer HTTP. `endGracefully` ends its new protocol. It returns true if it sent a
   * close frame and ends the connection within a second.
   */
  handOver(endGracefully: () => boolean): HandedOver;
  /** Ends the new protocol. Returns whether a close frame was sent. */
  endGracefully(): boolean;
  /** Closes the connection at once, so that the client does not take the response for complete. */
  cut(): void;
  /** The socket that was handed over is closed. */
  closed(): void;
}

/** The state that goes with a socket to its next reader. */
export interface HandedOver {
  /** Bytes that were read behind the request. */
  readonly ahead: Buffer | undefined;
  /** The client has ended its side. */
  readonly ended: boolean;
  /** The read buffer of the socket, and its loan. */
  readonly place: ReadPlace;
}

/** The proxy of an exchange, for events of the client's side. */
export interface ClientListener {
  clientLeft(): void;
  clientDrained(): void;
}

/**
 * One HTTP/1.1 request and its response, as the rest of the activator and the proxy see it. The two end one by one: the exchange
 * is over when both have ended.
 */
export class Exchange implements Incoming {
  readonly head: ClientRequest;
  readonly body: RequestBody;
  readonly seenMs: number;
  readonly connection: ExchangeConnection;
  /** Body bytes sent to the client so far. */
  bytesOut = 0;
  #proxy: ClientListener | undefined;
  #status = 0;
  #responded = false;
  #isLast = false;
  #dropsRest = false;
  #isUploading = false;
  #isSent = false;
  #endsByClose = false;
  #isOwnResponse = false;
  #grpcStatus: string | undefined;
  #left = false;
  #onLeave: (() => void) | undefined;
  #ended: Ended | undefined;
  readonly #onEnded: ((ended: Ended) => void)[] = [];

  constructor(connection: ExchangeConnection, head: ClientRequest, body: RequestBody, seenMs: number) {
    this.connection = connection;
    this.head = head;
    this.body = body;
    head.keptBody = body;
    this.seenMs = seenMs;
  }

  /** Whether the client has left or sent something malformed. */
  get left(): boolean {
    return this.#left;
  }

  onLeave(listener: (() => void) | undefined): void {
    this.#onLeave = listener;
  }

  get answerable(): boolean {
    return this.#status === 0 && this.connection.socket.writable;
  }

  get proxy(): ClientListener | undefined {
    return this.#proxy;
  }

  /** Whether the activator itself wrote the response: a request that was proxied may get an error, too. */
  get isOwnResponse(): boolean {
    return this.#isOwnResponse;
  }

  /** Whether a response was written completely. */
  get responded(): boolean {
    return this.#responded;
  }

  /**
   * Whether a client that has ended its side is gone. Clients of gRPC-Web never do that before the end of a call, and a call
   * that nobody reads would keep its sandbox awake.
   */
  get endsWithInput(): boolean {
    return !this.body.complete || this.head.grpc !== undefined;
  }

  /** Whether the connection ends with this exchange. */
  get isLast(): boolean {
    return this.#isLast || this.#left;
  }

  /** Whether the rest of the request is not wanted, and the response said so. */
  get dropsRest(): boolean {
    return this.#dropsRest;
  }

  /**
   * Whether the client said that it sends no more: then both sides may close at once. TLS has an end of its own to send, and a
   * client may send into a tunnel before it knows that there is none.
   */
  get isSaidToBeLast(): boolean {
    const { scheme, wire } = this.head;
    return scheme === "http" && !wire.keepsAlive && wire.framing !== "tunnel" && this.body.complete;
  }

  /** Whether the end of the connection alone marks the end of the response. */
  get endsByClose(): boolean {
    return this.#endsByClose;
  }

  /** The request has a connection to the sandbox; `proxy` is called for events of the client from now on. */
  proxiedBy(proxy: ClientListener, namespace?: string): void {
    this.#proxy = proxy;
    this.connection.proxied(namespace);
  }

  answer(response: Synthetic): void {
    const { status, headers, grpcStatus } = response;
    const bytes = bytesOf(response);
    this.#grpcStatus = grpcStatus;
    this.#isOwnResponse = true;
    const last = this.begin(status, false) || !this.body.complete;
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
    for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
    text += `Content-Length: ${bytes.length}\r\n${this.connectionLine(last)}\r\n`;
    if (this.head.method !== "HEAD") {
      text += bytes.toString("latin1");
      this.bytesOut += bytes.length;
    }
    // The client may not read this for minutes, and nothing else reads its request any more.
    this.head.sent();
    this.body.discard();
    this.connection.socket.write(text, "latin1");
    this.finish(last);
  }

  /** Begins the response. Returns whether the connection must end with it, because later bytes would be ambiguous. */
  begin(status: number, unframed: boolean): boolean {
    this.#status = status;
    this.#endsByClose = unframed;
    const { head, body, connection } = this;
    this.#dropsRest = status >= 400 && !body.complete;
    return unframed || connection.closing || head.upgrade || !head.wire.keepsAlive || this.#dropsRest;
  }

  /** These fields of the response say how a call of gRPC-Web ended. */
  endedBy(fields: Iterable<HeaderPair>): void {
    for (const [name, value] of fields) if (name === "grpc-status") this.#grpcStatus ??= value;
  }

  /** The Connection field of the response. */
  connectionLine(last: boolean): string {
    if (last) return "Connection: close\r\n";
    return this.head.wire.minorVersion === 0 ? "Connection: keep-alive\r\n" : "";
  }

  /** The response is written. `last`: its head said that the connection ends with it. */
  finish(last: boolean): void {
    this.#responded = true;
    this.#isLast = last;
    this.connection.responded();
  }

  /** The response is written, but the rest of the request still goes to the sandbox, until `uploaded`. */
  finishDownload(last: boolean): void {
    this.#isUploading = true;
    this.finish(last);
  }

  /** Nothing more of the request goes to the sandbox. */
  uploaded(): void {
    this.#isUploading = false;
    if (!this.#isSent) return;
    const { connection } = this;
    // Not within a read of the body: what was read behind it must be kept first.
    queueMicrotask(() =>
      runGuarded(
        "http-front",
        () => connection.concluded(this),
        () => connection.socket.reset(),
      ),
    );
  }

  /** The last byte of the response was sent. */
  sent(): void {
    this.#isSent = true;
    if (!this.#isUploading) this.connection.concluded(this);
    else if (this.#endsByClose) this.connection.socket.end(); // it marks the end of the response
  }

  /** The response has been sent, or never will be. */
  over(): void {
    if (this.#ended) return;
    this.body.stopReading();
    this.#ended = { status: this.#status || 499, bytesOut: this.bytesOut, grpcStatus: this.#grpcStatus };
    for (const listener of this.#onEnded) listener(this.#ended);
    this.#onEnded.length = 0;
    this.connection.over(this);
  }

  onEnded(listener: (ended: Ended) => void): void {
    if (this.#ended) listener(this.#ended);
    else this.#onEnded.push(listener);
  }

  abort(): void {
    this.endEarly();
  }

  /** As `abort`. Returns whether a close frame was sent: then the relay ends the connection. */
  endEarly(): boolean {
    if (this.#responded) return false;
    if (this.connection.endGracefully()) return true;
    this.connection.cut();
    return false;
  }

  /** The client sent malformed HTTP. It gets an error if no byte of a response was sent, and the request ends. */
  spoil(error: ActivatorError): void {
    if (this.answerable) this.answer(toResponse(error, this.head.grpc && this.head));
    else if (!this.#responded) this.connection.cut();
    this.leave();
  }

  /** The connection is closed. Returns whether the sandbox still gets the whole request. */
  outlivesConnection(): boolean {
    this.#isSent = true;
    return this.#isUploading && this.body.complete;
  }

  /** The client has ended its side after its response was written: it still gets all of that. */
  inputEnded(): void {
    if (!this.body.complete) this.leave();
  }

  /** The client has left, or ends within its request: waiting and proxying stop. A response that is written is still sent. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.body.stopReading();
    this.#onLeave?.();
    this.#proxy?.clientLeft();
    if (this.#responded) this.uploaded();
  }
}
