import { runGuarded } from "../../../lib/guard/guard.ts";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { StallWatch } from "../../pod-connections/stall-watch.ts";
import { type ClientOrigin, originOf } from "../../socket/client-origin.ts";
import type { Introduction } from "../../socket/proxy-protocol/awaited-header.ts";
import { ReadPlace } from "../../socket/read-place.ts";
import { cutConnection, type SocketReader, type WireSocket } from "../../socket/wire-socket.ts";
import type { Watched } from "../../sweep.ts";
import type { RequestHead } from "../parse/request-head.ts";
import { ClientRequest } from "./client-request.ts";
import type { ConnectionHost } from "./connection-host.ts";
import { Exchange, type ExchangeConnection, type HandedOver } from "./exchange.ts";
import { type UnfinishedHead, unknownOwner } from "./head-budget.ts";
import { HeadReader } from "./head-reader.ts";
import { wholePreface } from "./http2-preface.ts";
import { Linger } from "./lingering.ts";
import { ReadAhead, readAheadBytesMax } from "./read-ahead.ts";
import { errorOfRefusal, refusalText } from "./refusal-error.ts";
import { RequestBody } from "./request-body.ts";

/** How long an unserved client may stay after it ended its side: it may have sent everything, or be gone. Milliseconds. */
const halfClosedGraceMs = 100;

/**
 * One connection of a client.
 *
 *   reading ──head──▶ exchanging ──responded──▶ reading      (the next request, or what was read ahead of it)
 *      │                  │ ├──────101──▶ handed over           (bytes of another protocol)
 *      └──refused, idle───┴─┴──last──▶ closing ──▶ closed       (our end first, then the client's; RFC 9112, 9.6)
 */
type Phase = "reading" | "exchanging" | "handedOver" | "closing";

export class ClientConnection implements SocketReader, Watched, ExchangeConnection, UnfinishedHead {
  sweepIndex = -1;
  readonly owner = unknownOwner;
  readonly socket: WireSocket;
  readonly #host: ConnectionHost;
  readonly origin: ClientOrigin;
  readonly #place: ReadPlace;
  #phase: Phase = "reading";
  readonly #heads: HeadReader;
  #exchange: Exchange | undefined;
  /** Whether the exchange was handed to `began`. */
  #isServed = false;
  readonly #ahead: ReadAhead;
  #endGracefully: (() => boolean) | undefined;
  #inputEnded = false;
  /** Watches how fast the client takes the rest of a written response. */
  #tail: StallWatch | undefined;
  /** Limits what is read after our end. */
  #linger: Linger | undefined;
  #asked = false;
  /** The limit of the phase; that of an awaited head counts instead. */
  #dueMs = Number.POSITIVE_INFINITY;

  constructor(socket: WireSocket, host: ConnectionHost, introduction?: Introduction) {
    this.socket = socket;
    this.#host = host;
    this.origin = originOf(socket, introduction);
    this.#place = new ReadPlace(host.loans, socket);
    this.#ahead = new ReadAhead(this.#place);
    this.#heads = new HeadReader(host, this);
  }

  get closing(): boolean {
    return this.#host.draining || (this.#inputEnded && this.#ahead.isEmpty);
  }

  /** No request is in progress or has begun to arrive. */
  get idle(): boolean {
    return this.#phase === "reading" && this.#heads.isBetweenHeads;
  }

  /** A request is expected: the first of a new connection, or one that has begun to arrive. */
  get awaited(): boolean {
    if (this.#phase === "exchanging") return this.#exchange?.responded === true && !this.#ahead.isEmpty;
    return this.#phase === "reading" && !(this.#asked && this.#heads.isBetweenHeads);
  }

  nextBuffer(): Buffer {
    return this.#place.next(this.#ahead.room(this.#exchange?.body.ownBytes ?? 0));
  }

  /** False while a write still holds the next bytes' place, enough is kept, or the body's sink is behind. */
  get wantsMore(): boolean {
    if (!this.#place.isFree) return false;
    if (this.#phase === "closing") return true;
    return this.#ahead.length < readAheadBytesMax && (this.#exchange?.body.takesMore ?? true);
  }

  take(bytes: Buffer, length: number): void {
    this.#place.landed(bytes);
    this.#read(bytes, 0, length);
    this.#place.took(length, this.#exchange?.body.isFlowing === true);
  }

  ended(): void {
    this.#inputEnded = true;
    switch (this.#phase) {
      case "reading":
        if (this.#heads.isBetweenHeads) this.#close(false);
        else this.#refuse(new ActivatorError("MalformedRequest", { because: "the head is incomplete" }));
        break;
      case "exchanging":
        if (this.#exchange?.responded) this.#exchange.inputEnded();
        else if (this.#exchange?.endsWithInput) this.cut();
        else if (this.#exchange?.proxy === undefined) this.#dueMs = this.#host.nowMs() + halfClosedGraceMs;
        break;
      default:
    }
  }

  drained(): void {
    this.#exchange?.proxy?.clientDrained();
  }

  /** A client that can get no response has left: its request ends. */
  writeFailed(): boolean {
    return false;
  }

  closed(): void {
    this.#heads.clear();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#place.close();
    this.#phase = "closing";
    this.#host.lingering.leave(this);
    this.#host.closed(this);
    if (!exchange || exchange.outlivesConnection()) return;
    exchange.leave();
    // The exchange learns first that the client left, and ends with that cause.
    setImmediate(() => this.#guard(() => exchange.over()));
  }

  check(nowMs: number): void {
    if (this.#tail?.isStalled(this.socket.writableLength, nowMs)) return this.socket.reset();
    if (nowMs < (this.#linger?.dueMs ?? this.#heads.dueMs ?? this.#dueMs)) return;
    if (this.#phase === "exchanging" && this.#exchange?.responded === false) return this.#exchange.leave();
    if (this.#phase === "reading" && !this.#heads.isBetweenHeads) this.#refuse(new ActivatorError("RequestTimedOut"));
    else this.cut();
  }

  shed(): void {
    const error = new ActivatorError("RequestTimedOut");
    this.#guard(() => (this.#phase === "exchanging" ? this.#spoil(error) : this.#refuse(error)));
  }

  /** Closes the connection at once: by a reset if the client would read an end as that of the response. */
  cut(): void {
    if (this.#exchange?.endsByClose && this.#phase !== "closing") cutConnection(this.socket);
    else this.socket.destroy();
  }

  proxied(namespace: string | undefined): void {
    [this.#dueMs, this.#place.owner] = [Number.POSITIVE_INFINITY, namespace];
  }

  responded(): void {
    if (this.socket.writableLength === 0) return this.#flushed();
    const { keepAliveTimeoutMs, streamIdleMs } = this.#host;
    this.#tail = new StallWatch();
    // The activator's own responses are short, and go to unauthenticated clients too: their limit is shorter.
    this.#tail.limit(this.#exchange?.isOwnResponse ? keepAliveTimeoutMs : streamIdleMs, this.#host.nowMs());
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.socket.write("", "latin1", () => this.#guard(() => this.#flushed()));
  }

  handOver(endGracefully: () => boolean): HandedOver {
    this.#phase = "handedOver";
    this.#endGracefully = endGracefully;
    return { ahead: this.#ahead.handOver(), ended: this.#inputEnded, place: this.#place };
  }

  endGracefully(): boolean {
    return this.#phase === "handedOver" && this.#endGracefully?.() === true;
  }

  /** Runs a callback. An error in it ends this connection alone. */
  #guard(run: () => void): void {
    runGuarded("http-front", run, () => this.socket.reset());
  }

  #read(bytes: Buffer, start: number, end: number): void {
    if (this.#phase === "reading") this.#readHead(bytes, start, end);
    else if (this.#phase === "exchanging") this.#readBody(bytes, start, end);
    else this.#linger?.dropped(end - start, this.#host.nowMs()); // the response said that the connection closes
  }

  #readHead(bytes: Buffer, start: number, end: number): void {
    const parser = this.#heads.push(bytes, start, end);
    if (parser && parser.refusal === undefined) return this.#begin(parser.head, bytes, parser.consumedTo, end);
    this.#ahead.clear(); // the parser has gathered it
    if (parser?.refusal !== undefined) {
      const preface = this.#asked ? undefined : wholePreface(parser, this, bytes.subarray(start, end));
      this.#refuse(errorOfRefusal(parser.refusal, parser.head.method), preface);
    }
  }

  #begin(head: RequestHead, bytes: Buffer, start: number, end: number): void {
    const request = new ClientRequest(head.keep(), this.origin, { grpc: this.#host.callOf?.(head) });
    const body = new RequestBody(request.wire, this.#heads.share, request.grpc === undefined);
    const exchange = new Exchange(this, request, body, this.#host.nowMs());
    this.#exchange = exchange;
    this.#isServed = false;
    this.#asked = true;
    this.#phase = "exchanging";
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#readBody(bytes, start, end);
    // The bytes at hand made the request malformed before it was handed on.
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
    if (refusal !== undefined) return this.#spoil(errorOfRefusal(refusal));
    exchange.body.followedBy(this.#ahead.keep(bytes, at, end));
    this.#linger?.dropped(at - start, this.#host.nowMs());
    if (this.#linger && exchange.body.complete) this.concluded(exchange);
  }

  /** The rest of the current request is not read. */
  #spoil(error: ActivatorError): void {
    if (this.#exchange?.responded === false) this.#host.refused(error);
    this.#exchange?.spoil(error);
  }

  #flushed(): void {
    this.#tail = undefined;
    this.#exchange?.sent();
  }

  concluded(exchange: Exchange): void {
    if (this.#exchange !== exchange || this.#phase !== "exchanging") return exchange.over();
    const { complete } = exchange.body;
    const hasRest = !complete || !this.#ahead.isEmpty;
    if (exchange.isLast) this.#close(hasRest, exchange.isSaidToBeLast && !hasRest);
    else if (complete) this.#linger = this.#linger?.over();
    else {
      this.#linger ??= new Linger(this, this.#host.lingering, this.#host.nowMs(), true);
      return this.socket.readOn();
    }
    exchange.over();
  }

  over(exchange: Exchange): void {
    if (!this.#isServed) return;
    this.#host.ended(exchange);
    // One read may bring many requests (pipelining). One of a connection is begun in each turn, so that all others get theirs.
    if (this.#ahead.isEmpty) this.#next(exchange);
    else setImmediate(() => this.#guard(() => this.#next(exchange)));
  }

  #next(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    exchange.body.discard();
    this.#exchange = undefined;
    if (this.#phase !== "exchanging") return;
    this.#phase = "reading";
    this.#dueMs = this.#host.nowMs() + this.#host.keepAliveTimeoutMs;
    const { bytes, at } = this.#ahead;
    if (bytes) this.#readHead(bytes, at, bytes.length);
    if (this.#inputEnded) return this.ended();
    if (!this.#host.accepting) this.closeIdle();
    this.socket.readOn(); // the rest of a head that has begun to arrive may wait in the kernel
  }

  /** Answers a connection without a readable request, and closes it. After a preface of HTTP/2, another front may take it. */
  #refuse(error: ActivatorError, preface?: Buffer): void {
    if (preface && this.#host.yielded(this, preface)) return this.#place.close();
    this.#host.refused(error);
    this.#exchange?.leave();
    this.#exchange = undefined;
    if (this.socket.writable) this.socket.write(refusalText(error), "latin1");
    this.#close(true);
  }

  /** Ends our side first, then waits for the client's: a close while the client sends makes its kernel drop our last bytes. */
  #close(isSending: boolean, atOnce = false): void {
    if (this.#phase === "closing") return;
    this.#phase = "closing";
    this.#heads.clear();
    this.#ahead.clear();
    if (atOnce || !(this.socket.writable || this.socket.writableEnded)) return void this.socket.destroy();
    this.#linger ??= new Linger(this, this.#host.lingering, this.#host.nowMs(), isSending);
    this.socket.end();
    this.socket.readOn();
  }

  /** Closes a connection that has served a request and has none in progress. */
  closeIdle(): void {
    if (this.idle && !this.awaited) this.#close(false);
  }
}
