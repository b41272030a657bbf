import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { toResponse } from "../answer.ts";
import type { ActivatorError } from "../errors.ts";
import {
  ClientGone,
  type Ended,
  type HeaderPair,
  type Incoming,
  type RequestHead,
  type Synthetic,
} from "../request.ts";

export interface ExchangeParts {
  readonly head: RequestHead;
  readonly seenMs: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly expectsContinue: boolean;
  /** Whether connections are to be closed after their response, for we are leaving. */
  readonly closing: () => boolean;
}

/** One HTTP/1.1 request and its response, over Node's own parser. */
export class Http1Exchange implements Incoming {
  readonly head: RequestHead;
  readonly seenMs: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Socket;
  readonly expectsContinue: boolean;
  readonly gone: AbortSignal;
  readonly ended: Promise<Ended>;
  /** Body bytes sent to the client so far. */
  bytesOut = 0;
  readonly #closing: () => boolean;
  readonly #gone = new AbortController();
  readonly #ended = Promise.withResolvers<Ended>();
  #tunnelled = false;

  constructor({ head, seenMs, request, response, socket, expectsContinue, closing }: ExchangeParts) {
    this.head = head;
    this.seenMs = seenMs;
    this.request = request;
    this.response = response;
    this.socket = socket;
    this.expectsContinue = expectsContinue;
    this.gone = this.#gone.signal;
    this.ended = this.#ended.promise;
    this.#closing = closing;
    response.sendDate = false; // a sandbox's answer goes through with its own date or none
    response.on("error", () => {}); // the close that follows is what counts
    request.on("error", () => {});
    response.once("close", () => this.#tunnelled || this.#over());
  }

  get answerable(): boolean {
    return !this.response.headersSent && !this.socket.destroyed && !this.#tunnelled;
  }

  answer({ status, headers, body }: Synthetic): void {
    const length: HeaderPair = ["Content-Length", String(Buffer.byteLength(body))];
    this.begin(status, STATUS_CODES[status] ?? "", [...headers, length]);
    if (this.head.method !== "HEAD") this.bytesOut += Buffer.byteLength(body);
    this.response.end(body);
  }

  abort(): void {
    if (!this.response.writableEnded) this.socket.destroy();
  }

  /** Starts the response. A connection whose request is not read to its end cannot carry another. */
  begin(status: number, reason: string, headers: readonly HeaderPair[]): void {
    const last = this.#closing() || this.head.upgrade || (status >= 400 && !this.request.complete);
    const all = last ? [...headers, ["Connection", "close"] as const] : headers;
    this.response.writeHead(status, reason, all.flat());
  }

  /** What the client sends is no HTTP: it is told so if nothing was sent yet, and the request ends here. */
  spoil(error: ActivatorError): void {
    if (this.answerable) this.answer(toResponse(error));
    else this.socket.destroy();
    this.#gone.abort(new ClientGone("the request is malformed"));
  }

  /** Reads ahead a little on a connection that the parser has let go, for a paused one tells nothing of its end. */
  watchForLeaving(): void {
    this.socket.on("readable", this.#readAhead).on("end", this.#leave);
  }

  /** The connection is no longer HTTP: its end is what `endTunnel` says. What was read ahead is read again. */
  becomeTunnel(): void {
    this.#tunnelled = true;
    this.socket.off("readable", this.#readAhead).off("end", this.#leave);
    this.response.detachSocket(this.socket);
  }

  endTunnel(): void {
    this.#ended.resolve({ status: 101, bytesOut: this.bytesOut });
  }

  // Data stays in the stream's own buffer, and fills it at most; only the end is taken out.
  readonly #readAhead = (): void => {
    if (this.socket.readableLength === 0) this.socket.read();
  };

  readonly #leave = (): void => void this.socket.destroy();

  #over(): void {
    const { response } = this;
    if (!response.writableFinished) this.#gone.abort(new ClientGone("the client left"));
    this.#ended.resolve({ status: response.headersSent ? response.statusCode : 499, bytesOut: this.bytesOut });
  }
}
