import type { Upstream } from "../../connect/connector.ts";
import { ActivatorError, type ErrorCode } from "../../failures/error-codes.ts";
import type { FieldSection } from "../../http1/parse/field-section.ts";
import type { Refusal } from "../../http1/parse/refusals.ts";
import { isEventStream, type ResponseHead } from "../../http1/parse/response-head.ts";
import { isOffered } from "../../http1/parse/upgrade-offer.ts";
import { EventStream } from "../../http1/proxy/event-stream.ts";
import { requestText } from "../../http1/proxy/head-text.ts";
import { PodConnection, type ResponseTaker } from "../../http1/proxy/pod-connection.ts";
import { type CountedPort, keepAliveMs } from "../../pod-connections/pool.ts";
import { StallWatch } from "../../pod-connections/stall-watch.ts";
import type { ProxyRequestOptions } from "../../proxy-request.ts";
import { ClientGone } from "../../request.ts";
import type { Watched } from "../../sweep.ts";
import type { StreamBodySink } from "../front/stream-body.ts";
import type { StreamExchange, StreamListener } from "../front/stream-exchange.ts";
import type { Http2ProxyOptions } from "./create-http2-proxy.ts";
import { InterimResponses } from "./interim-responses.ts";
import { RequestSender } from "./request-sender.ts";
import { StreamRelay } from "./stream-relay.ts";
import { StreamTunnel } from "./stream-tunnel.ts";
import { provesWebSocket } from "./web-socket-proof.ts";

/**
 * One exchange between a stream and a sandbox.
 *
 *   sending ──response──▶ answering ──complete──▶ done
 *      │ └─────101──────▶ tunnel ────both ends──▶ done
 *      └── fails: the client gets an error            (later failures reset the stream)
 */
type Phase = "sending" | "answering" | "tunnel" | "done";

export class StreamProxy implements ResponseTaker, StreamBodySink, StreamListener, Watched {
  sweepIndex = -1;
  readonly #exchange: StreamExchange;
  readonly #upstream: Upstream;
  readonly #pod: PodConnection;
  readonly #sender: RequestSender;
  readonly #interim: InterimResponses;
  readonly #how: ProxyRequestOptions;
  readonly #options: Http2ProxyOptions;
  readonly #stall = new StallWatch();
  readonly #settled = Promise.withResolvers<void>();
  #phase: Phase = "sending";
  #relay: StreamRelay | undefined;
  /** Set while the request is counted there. */
  #port: CountedPort | undefined;
  #tunnel: StreamTunnel | undefined;
  #events: EventStream | undefined;
  #endMs = Number.POSITIVE_INFINITY;
  #bytesRead = -1;

  constructor(exchange: StreamExchange, upstream: Upstream, how: ProxyRequestOptions, options: Http2ProxyOptions) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#how = how;
    this.#options = options;
    this.#pod = PodConnection.of(upstream.socket, upstream.target.namespace, options);
    this.#sender = new RequestSender(upstream.socket, exchange.head.wire.facts.isChunked);
    this.#interim = new InterimResponses(exchange.stream);
  }

  /** Resolves when the exchange is over; rejects with the error to answer if no response has begun. */
  run(): Promise<void> {
    const { head, body, left } = this.#exchange;
    const { socket, target } = this.#upstream;
    if (left || socket.destroyed) {
      this.#fail(left ? new ClientGone("the client left") : this.#error("ResponseLost"));
      return this.#settled.promise;
    }
    const { totalMs, clock, sweep, pool } = this.#options;
    const nowMs = clock.ticksMs();
    if (totalMs > 0) this.#endMs = nowMs + totalMs;
    this.#stall.limit(this.#how.responseStartMs, nowMs);
    sweep.add(this);
    this.#port = pool.begin(target, nowMs);
    this.#exchange.proxiedBy(this);
    this.#pod.expect({ isHead: head.method === "HEAD", askedUpgrade: head.upgrade }, this);
    this.#sender.begin(requestText(head, this.#how, target));
    head.sent();
    if (!head.upgrade) body.pourInto(this); // a WebSocket's bytes wait for the sandbox's consent
    this.#sender.flush();
    if (this.#phase === "done") return this.#settled.promise; // the kept body was too large
    this.#how.use.dispatched();
    if (head.expectsContinue && !body.complete) this.#interim.continue();
    this.#pod.readOn();
    return this.#settled.promise;
  }

  // The request's body.

  get wantsBody(): boolean {
    return this.#isOver() || !this.#sender.isBehind;
  }

  bodyBytes(bytes: Buffer): void {
    if (!this.#isOver() && this.#isWithinLimit()) this.#sender.data(bytes);
  }

  bodyEnded(trailers: FieldSection | undefined): void {
    if (!this.#isOver()) this.#sender.end(trailers);
  }

  // The client.

  clientLeft(): void {
    this.#tunnel?.clientLeft();
    this.#fail(new ClientGone("the client left"));
  }

  clientDrained(): void {
    this.#pod.readOn();
  }

  // The sandbox.

  get wantsResponse(): boolean {
    return this.#relay?.takesMore ?? true;
  }

  interim(head: ResponseHead): void {
    if (this.#phase === "sending") this.#interim.relay(head);
  }

  responded(head: ResponseHead, bytes: Buffer, start: number, end: number): void {
    const refusal = this.#refusalOf(head);
    if (refusal) return this.#fail(refusal);
    if (head.status === 101) return this.#switch(head, bytes.subarray(start, end));
    this.#begin("answering", this.#options.streamIdleMs);
    this.#relay = new StreamRelay(head, this.#exchange, this.#pod);
    // With other methods the client asked for work, and the events are its result: in flight until they end.
    if (this.#exchange.head.method === "GET" && isEventStream(head)) this.#events = EventStream.open(this.#how.onOpen);
    this.body(bytes, start, end);
  }

  body(bytes: Buffer, start: number, end: number): void {
    this.#events?.passed(bytes, start, end);
    switch (this.#relay?.pass(bytes, start, end)) {
      case "complete":
        return this.#complete(this.#pod.framer.at === end);
      case "refused":
        return this.#fail(this.#error("ResponseLost"));
      default:
    }
  }

  refused(refusal: Refusal): void {
    const cause = new Error(`the response was refused: ${refusal}`);
    this.#fail(this.#error(refusal === "UpgradeNotAsked" ? "UnaskedUpgrade" : "ResponseLost", cause));
  }

  podEnded(): void {
    if (this.#relay?.finish()) this.#complete(false);
    else this.#fail(this.#error("ResponseLost", new Error("the sandbox ended its side before its response")));
  }

  podDrained(): void {
    this.#exchange.body.readOn();
  }

  /** The sandbox may have answered before it hung up. */
  podTakesNoMore(): boolean {
    this.#exchange.body.readOn();
    this.#pod.readOn();
    return this.#phase !== "done";
  }

  podClosed(): void {
    this.#fail(this.#error("ResponseLost", new Error("the connection was closed before a whole response")));
  }

  get podUid(): string {
    return this.#upstream.target.podUid;
  }

  podGone(nowMs: number): void {
    this.#stall.podGone(nowMs);
  }

  check(nowMs: number): void {
    const { socket } = this.#upstream;
    if (socket.errored && this.wantsResponse && !this.#hasReadOn(socket.bytesRead)) {
      return this.#fail(this.#error("ResponseLost", socket.errored));
    }
    if (nowMs < this.#endMs && !this.#stall.isStalled(this.#progress, nowMs)) return;
    this.#fail(this.#error(this.#stall.isPodGone ? "ResponseLost" : "SandboxSlow"));
  }

  /** Before the response only bytes to the sandbox count; later also those that the client took. */
  get #progress(): number {
    const { bytesRead, bytesWritten } = this.#upstream.socket;
    if (this.#phase === "sending") return bytesWritten;
    return bytesRead + bytesWritten + this.#exchange.bytesOut - this.#exchange.stream.bufferSize;
  }

  /** Whether more of a response arrived since the last check, on a connection that cannot report its end. */
  #hasReadOn(bytesRead: number): boolean {
    const before = this.#bytesRead;
    this.#bytesRead = bytesRead;
    return bytesRead !== before;
  }

  /** Why a response cannot be forwarded. */
  #refusalOf(head: ResponseHead): ActivatorError | undefined {
    const { webSocketKey, head: asked } = this.#exchange;
    if (head.status === 101) {
      const isProven =
        webSocketKey !== undefined && provesWebSocket(head.valueOf("sec-websocket-accept"), webSocketKey);
      if (isProven && isOffered(head.valueOf("upgrade"), asked.upgradeOffer)) return undefined;
      return this.#error("UnaskedUpgrade", new Error("the sandbox switched to a protocol that was not asked for"));
    }
    // To the client, success would mean that the stream is a WebSocket now.
    const isNoSocket = webSocketKey !== undefined && head.status < 300;
    if (!isNoSocket && head.status <= statusMax) return undefined;
    return this.#error("ResponseLost", new Error(`the sandbox answered with the status ${head.status}`));
  }

  #begin(phase: "answering" | "tunnel", idleMs: number): void {
    this.#phase = phase;
    this.#stall.limit(idleMs, this.#options.clock.ticksMs());
    this.#how.onFirstByte();
  }

  #complete(nothingFollows: boolean): void {
    this.#phase = "done";
    const { socket } = this.#upstream;
    const relay = this.#relay;
    const port = this.#port;
    this.#pod.rest();
    if (relay && port && nothingFollows && this.#mayServeAnother(relay)) {
      this.#port = undefined;
      this.#options.pool.put(port, socket, keepAliveMs(relay.keepAlive));
    } else socket.destroy();
    this.#leave();
    this.#settled.resolve();
    this.#exchange.finish();
  }

  /** Bytes of an unfinished request have no reader, and after an offer to upgrade the protocol is unknown. */
  #mayServeAnother({ keepsAlive }: StreamRelay): boolean {
    const { head, body } = this.#exchange;
    return (
      keepsAlive &&
      !this.#stall.isPodGone &&
      body.complete &&
      (this.#sender.hasEnded || head.wire.framing === "none") &&
      !head.upgrade &&
      this.#upstream.socket.writableLength === 0
    );
  }

  #switch(head: ResponseHead, early: Buffer): void {
    const { tunnelIdleMs, tunnelLifetimeMs, clock } = this.#options;
    this.#begin("tunnel", tunnelIdleMs);
    this.#endMs = tunnelLifetimeMs > 0 ? clock.ticksMs() + tunnelLifetimeMs : Number.POSITIVE_INFINITY;
    this.#tunnel = new StreamTunnel(this.#exchange, this.#pod, { clock, onOpen: this.#how.onOpen });
    this.#tunnel.start(head, early);
  }

  #isOver(): boolean {
    return this.#phase === "done" || !this.#upstream.socket.writable;
  }

  #isWithinLimit(): boolean {
    const { maxRequestBodyBytes } = this.#options;
    if (maxRequestBodyBytes <= 0 || this.#exchange.body.length <= maxRequestBodyBytes) return true;
    this.#fail(this.#error("BodyTooLarge"));
    return false;
  }

  #error(code: ErrorCode, cause?: Error): ActivatorError {
    return new ActivatorError(code, { subject: this.#how.subject, cause });
  }

  /** Neither watched nor counted any more. */
  #leave(): void {
    this.#options.sweep.remove(this);
    if (this.#port) this.#options.pool.end(this.#port);
    this.#port = undefined;
  }

  /** Ends the exchange early: with an error if no response has begun, else by a reset of the stream. */
  #fail(cause: ActivatorError | ClientGone): void {
    if (this.#phase === "done") return;
    const answered = this.#phase !== "sending";
    this.#phase = "done";
    this.#leave();
    if (!this.#tunnel) this.#pod.rest();
    this.#exchange.body.discard();
    // After a close frame the tunnel of a WebSocket ends both sides.
    if (!answered || !this.#exchange.endEarly()) this.#upstream.socket.destroy();
    if (!answered) this.#settled.reject(cause);
    this.#settled.resolve();
  }
}

/** HTTP/1.1 has higher ones, which Node's HTTP/2 refuses to send. */
const statusMax = 599;
