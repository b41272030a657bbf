import { STATUS_CODES } from "node:http";
import { toResponse } from "../../answer.ts";
import { ActivatorError } from "../../errors.ts";
import { canonicalIp } from "../../find/ip-address.ts";
import { type BufferLoans, ReadPlace } from "../../socket/read-place.ts";
import type { SocketReader, WireSocket } from "../../socket/wire-socket.ts";
import type { Watched } from "../../sweep.ts";
import type { RequestHead } from "../request-head.ts";
import type { RequestHeadParser } from "../request-head-parser.ts";
import { ClientRequest } from "./client-request.ts";
import { Exchange, type ExchangeConnection } from "./exchange.ts";
import { errorOfRefusal } from "./refusal-error.ts";
import { RequestBody, readAheadBytesMax } from "./request-body.ts";

/** What connections of one front have in common. */
export interface ConnectionHost {
  /** Reads the heads that arrive in one piece, for all connections. */
  readonly parser: RequestHeadParser;
  readonly loans: BufferLoans;
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** Each response is the last of its connection. */
  readonly draining: boolean;
  readonly accepting: boolean;
  /** From now on the parser is the caller's; another takes its place. */
  giveParser(): RequestHeadParser;
  nowMs(): number;
  began(exchange: Exchange): void;
  ended(exchange: Exchange): void;
  /** A request was refused before it was one. */
  refused(error: ActivatorError): void;
  closed(connection: ClientConnection): void;
}

/** How long what a client still sends is read and dropped, after it was told that we close. */
const lingerMs = 2_000;
/** A client that ends its side may only have said all it has to say, or be gone: who is not served by then is gone. */
const halfClosedGraceMs = 100;

/**
 * One connection of a client.
 *
 *   reading ──head──▶ exchanging ──responded──▶ reading      (the next request, or what was read ahead of it)
 *      │                  │ ├──────101──▶ handed over           (bytes of another protocol)
 *      └──refused, idle───┴─┴──last──▶ closing ──▶ closed       (our end first, then the client's; RFC 9112, 9.6)
 */
type Phase = "reading" | "exchanging" | "handedOver" | "closing";

export class ClientConnection implements SocketReader, Watched, ExchangeConnection {
  sweepIndex = -1;
  readonly socket: WireSocket;
  readonly #host: ConnectionHost;
  readonly #peer: string;
  readonly #place: ReadPlace;
  #phase: Phase = "reading";
  /** Has read a part of a head. */
  #parser: RequestHeadParser | undefined;
  #exchange: Exchange | undefined;
  /** Whether somebody else has heard of the exchange. */
  #isServed = false;
  /** What was read behind the request of the exchange. */
  #ahead: Buffer | undefined;
  #inputEnded = false;
  #asked = false;
  #dueMs: number;

  constructor(socket: WireSocket, host: ConnectionHost) {
    this.socket = socket;
    this.#host = host;
    const { remoteAddress = "" } = socket;
    this.#peer = canonicalIp(remoteAddress) ?? remoteAddress;
    this.#place = new ReadPlace(host.loans);
    this.#dueMs = host.nowMs() + host.headersTimeoutMs;
  }

  get closing(): boolean {
    return this.#host.draining || (this.#inputEnded && this.#ahead === undefined);
  }

  /** No request is under way, and nothing has come of one. */
  get idle(): boolean {
    return this.#phase === "reading" && this.#isBetweenHeads();
  }

  /** A request is on its way: the first of a new connection, or one whose head has begun. */
  get awaited(): boolean {
    return this.#phase === "reading" && !(this.#asked && this.#isBetweenHeads());
  }

  nextBuffer(): Buffer {
    return this.#place.next();
  }

  take(bytes: Buffer, length: number): boolean {
    this.#read(bytes, 0, length);
    this.#place.took(length);
    return this.#phase === "closing" || this.#wantsMore();
  }

  ended(): void {
    this.#inputEnded = true;
    switch (this.#phase) {
      case "reading":
        if (this.#isBetweenHeads()) this.#close();
        else this.#refuse(new ActivatorError("MalformedRequest", { because: "it ends in its head" }));
        break;
      case "exchanging":
        if (this.#exchange?.body.complete === false) this.socket.destroy();
        else if (this.#exchange?.carrying === undefined) this.#dueMs = this.#host.nowMs() + halfClosedGraceMs;
        break;
      default:
    }
  }

  drained(): void {
    this.#exchange?.carrying?.clientDrained();
  }

  closed(): void {
    this.#place.release();
    this.#phase = "closing";
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#ahead = undefined;
    this.#host.closed(this);
    if (!exchange) return;
    exchange.leave();
    // Who waited or carried is told first, and says why it ended.
    setImmediate(() => exchange.over());
  }

  check(nowMs: number): void {
    if (nowMs < this.#dueMs) return;
    if (this.#phase === "exchanging" && this.#exchange?.responded === false) return this.#exchange.leave();
    if (this.#phase === "reading" && !this.#isBetweenHeads()) this.#refuse(new ActivatorError("RequestTimedOut"));
    else this.socket.destroy();
  }

  carried(): void {
    this.#dueMs = Number.POSITIVE_INFINITY;
  }

  responded(last: boolean): void {
    this.#dueMs = this.#host.nowMs() + this.#host.keepAliveTimeoutMs; // for what the client has not taken yet
    if (this.socket.writableLength === 0) this.#flushed(last);
    else this.socket.write("", "latin1", () => this.#flushed(last));
  }

  readOn(): void {
    if (this.#wantsMore()) this.socket.resume();
  }

  handOver(): Buffer | undefined {
    this.#phase = "handedOver";
    const ahead = this.#ahead;
    this.#ahead = undefined;
    this.#place.release();
    return ahead;
  }

  #isBetweenHeads(): boolean {
    return this.#parser?.isIdle ?? true;
  }

  #wantsMore(): boolean {
    if (this.#ahead && this.#ahead.length >= readAheadBytesMax) return false;
    return this.#exchange?.body.takesMore ?? true;
  }

  #read(bytes: Buffer, start: number, end: number): void {
    switch (this.#phase) {
      case "reading":
        return this.#readHead(bytes, start, end);
      case "exchanging":
        return this.#readBody(bytes, start, end);
      default: // dropped: whoever sent it was told that we close
    }
  }

  #readHead(bytes: Buffer, start: number, end: number): void {
    const wasIdle = this.#isBetweenHeads();
    const parser = this.#parser ?? this.#host.parser;
    const step = parser.push(bytes, start, end);
    if (step === "complete") {
      this.#parser = undefined;
      return this.#begin(parser.head, bytes, parser.consumedTo, end);
    }
    this.#parser ??= this.#host.giveParser();
    if (step === "refused") this.#refuse(errorOfRefusal(parser.refusal ?? "StartLineInvalid", parser.head.method));
    else if (wasIdle) this.#dueMs = this.#host.nowMs() + this.#host.headersTimeoutMs;
  }

  #begin(head: RequestHead, bytes: Buffer, start: number, end: number): void {
    const request = new ClientRequest(head.keep(), this.#peer, "encrypted" in this.socket ? "https" : "http");
    const exchange = new Exchange(this, request, new RequestBody(request.wire), this.#host.nowMs());
    this.#exchange = exchange;
    this.#isServed = false;
    this.#asked = true;
    this.#phase = "exchanging";
    this.#dueMs = Number.POSITIVE_INFINITY;
    if (start < end) this.#readBody(bytes, start, end);
    // Nobody else has heard of it if the bytes at hand spoilt it already.
    if (exchange.left) return;
    if (request.expectsTheImpossible) return this.#refuse(new ActivatorError("ExpectationFailed"));
    this.#isServed = true;
    this.#host.began(exchange);
  }

  #readBody(bytes: Buffer, start: number, end: number): void {
    const exchange = this.#exchange;
    if (!exchange || exchange.left) return;
    const at = exchange.body.take(this.#place, bytes, start, end);
    const { refusal } = exchange.body;
    if (refusal !== undefined) {
      const error = errorOfRefusal(refusal);
      this.#host.refused(error);
      return exchange.spoil(error);
    }
    if (exchange.body.lent) setImmediate(() => this.#copy(exchange));
    if (at >= end) return;
    const more = bytes.subarray(at, end);
    this.#ahead = this.#ahead ? Buffer.concat([this.#ahead, more]) : Buffer.from(more);
  }

  /** What waits to be carried must not keep its client from being read, or nobody would notice that it leaves. */
  #copy({ body }: Exchange): void {
    if (!body.lent) return;
    body.copy();
    this.readOn();
  }

  #flushed(last: boolean): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    if (last) this.#close(this.#saidItsLast(exchange));
    exchange.over();
  }

  over(exchange: Exchange): void {
    if (!this.#isServed) return;
    this.#host.ended(exchange);
    // On a stack of its own where more was read: many requests may lie ahead of their answers.
    if (this.#ahead) queueMicrotask(() => this.#next(exchange));
    else this.#next(exchange);
  }

  #next(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#exchange = undefined;
    if (this.#phase !== "exchanging") return;
    this.#phase = "reading";
    this.#dueMs = this.#host.nowMs() + this.#host.keepAliveTimeoutMs;
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead) this.#readHead(ahead, 0, ahead.length);
    if (this.#inputEnded) this.ended();
    else if (!this.#host.accepting) this.closeIdle();
    else if (this.#wantsMore()) this.socket.resume();
  }

  /** Answers on a connection on which no request could be read, and closes it. */
  #refuse(error: ActivatorError): void {
    this.#host.refused(error);
    this.#exchange = undefined;
    const { status, headers, body } = toResponse(error);
    const bytes = Buffer.from(body);
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines}`;
    const text = `${head}Content-Length: ${bytes.length}\r\nConnection: close\r\n\r\n${bytes.toString("latin1")}`;
    if (this.socket.writable) this.socket.write(text, "latin1");
    this.#close();
  }

  /** Whether the client will send nothing more, by its own word: then both ends may close at once. TLS has an end to tell. */
  #saidItsLast({ head, body }: Exchange): boolean {
    return head.scheme === "http" && !head.wire.keepsAlive && body.complete && this.#ahead === undefined;
  }

  /** Our end first, then the client's: closing both while it still sends makes its kernel drop our last words. */
  #close(atOnce = false): void {
    if (this.#phase === "closing") return;
    this.#phase = "closing";
    this.#dueMs = this.#host.nowMs() + lingerMs;
    this.#ahead = undefined;
    if (atOnce || !this.socket.writable) return void this.socket.destroy();
    this.socket.end();
    this.socket.resume();
  }

  /** Ends a connection that has served its client and on which nothing is under way. */
  closeIdle(): void {
    if (this.idle && !this.awaited) this.#close();
  }
}
