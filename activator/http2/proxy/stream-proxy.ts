import type { Upstream } from "../../connect/connector.ts";
import { ActivatorError, type ErrorCode } from "../../failures/errors-for-clients.ts";
import { clientView } from "../../headers/base-path.ts";
import type { Refusal } from "../../http1/parse/refusals.ts";
import { isEventStream, type ResponseHead } from "../../http1/parse/response-head.ts";
import { EventStream } from "../../http1/proxy/event-stream.ts";
import { ExchangeLimits } from "../../http1/proxy/exchange-limits.ts";
import { requestText } from "../../http1/proxy/head-text.ts";
import { PodConnection, type ResponseTaker } from "../../http1/proxy/pod-connection.ts";
import { type CountedPort, keepAliveMs } from "../../pod-connections/pool.ts";
import type { RequestOwner } from "../../pod-connections/request-writer.ts";
import type { ProxyRequestOptions } from "../../proxy-interface.ts";
import { ClientGone } from "../../request.ts";
import type { Watched } from "../../sweep.ts";
import type { StreamExchange, StreamListener } from "../front/stream-exchange.ts";
import { ResponseRelay } from "../response-relay.ts";
import type { Http2ProxyOptions } from "./create-http2-proxy.ts";
import { InterimResponses } from "./interim-responses.ts";
import { refusalOf } from "./refused-responses.ts";
import { RequestSender } from "./request-sender.ts";
import { StreamTunnel } from "./stream-tunnel.ts";

/**
 * One exchange between a stream and a sandbox.
 *
 *   sending ──response──▶ answering ──complete──▶ uploading ──request sent, or not wanted──▶ done
 *      │ └─────101──────▶ tunnel ────both ends──▶ done
 *      └── fails: the client gets an error            (later failures reset the stream)
 *
 * Uploading: the client has its response, and the rest of its request still goes to the sandbox.
 */
type Phase = "sending" | "answering" | "uploading" | "tunnel" | "done";

export class StreamProxy implements ResponseTaker, RequestOwner, StreamListener, Watched {
  sweepIndex = -1;
  readonly #exchange: StreamExchange;
  readonly #upstream: Upstream;
  readonly #pod: PodConnection;
  readonly #sender: RequestSender;
  readonly #interim: InterimResponses;
  readonly #how: ProxyRequestOptions;
  readonly #options: Http2ProxyOptions;
  readonly #limits: ExchangeLimits;
  readonly #settled = Promise.withResolvers<void>();
  #phase: Phase = "sending";
  #relay: ResponseRelay | undefined;
  /** Set while the request is counted there. */
  #port: CountedPort | undefined;
  #tunnel: StreamTunnel | undefined;
  #events: EventStream | undefined;
  #bytesRead = -1;
  /** The sandbox has not ended its side. */
  #isOpen = true;

  constructor(exchange: StreamExchange, upstream: Upstream, how: ProxyRequestOptions, options: Http2ProxyOptions) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#how = how;
    this.#options = options;
    this.#pod = PodConnection.of(upstream.socket, upstream.target.namespace, options);
    this.#sender = new RequestSender(upstream.socket, exchange, this, options.maxRequestBodyBytes);
    this.#interim = new InterimResponses(exchange, clientView(exchange.head, how));
    this.#limits = new ExchangeLimits(options.proxyTimeoutMs);
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
    this.#limits.total(totalMs, nowMs);
    this.#limits.sandbox(this.#how.responseStartMs, nowMs);
    sweep.add(this);
    this.#port = pool.begin(target, nowMs);
    this.#exchange.proxiedBy(this);
    this.#pod.expect({ isHead: head.method === "HEAD", askedUpgrade: head.upgrade }, this);
    this.#sender.text(requestText(head, this.#how, target));
    head.sent();
    if (!head.upgrade) body.pourInto(this.#sender); // a WebSocket's bytes wait for the sandbox's consent
    this.#sender.begin();
    if (this.#phase === "done") return this.#settled.promise; // the kept body was too large
    this.#how.use.dispatched();
    if (head.expectsContinue && !body.complete) this.#interim.continue();
    this.#pod.readOn();
    return this.#settled.promise;
  }

  // The request's body.

  get isDone(): boolean {
    return this.#phase === "done";
  }

  requestTooLarge(): void {
    this.#fail(this.#error("BodyTooLarge"));
  }

  requestWritten(): void {
    if (this.#phase === "uploading") this.#concludeOnceSent();
  }

  // The client.

  clientLeft(): void {
    this.#tunnel?.clientLeft();
    this.#fail(new ClientGone("the client left"));
  }

  clientDrained(): void {
    this.#pod.readOn();
  }

  get waitingBytes(): number {
    return this.isDone ? 0 : this.#upstream.socket.writableLength;
  }

  // The sandbox.

  get wantsResponse(): boolean {
    return this.#phase === "uploading" || (this.#tunnel?.wantsMore ?? this.#relay?.takesMore ?? true);
  }

  interim(head: ResponseHead): void {
    if (this.#phase === "sending") this.#interim.relay(head);
  }

  responded(head: ResponseHead, bytes: Buffer, start: number, end: number): void {
    const refusal = refusalOf(head, this.#exchange);
    if (refusal) return this.#fail(this.#error(refusal.code, new Error(refusal.because)));
    if (head.status === 101) return this.#switch(head, bytes.subarray(start, end));
    this.#begin("answering", this.#options.streamIdleMs);
    this.#relay = new ResponseRelay(head, this.#exchange, this.#pod, this.#how);
    // With other methods the client asked for work, and the events are its result: in flight until they end.
    if (this.#exchange.head.method === "GET" && isEventStream(head)) this.#events = EventStream.open(this.#how.onOpen);
    this.body(bytes, start, end);
  }

  body(bytes: Buffer, start: number, end: number): void {
    if (this.#phase === "uploading") return this.#conclude(false); // it sends more than its response
    this.#events?.passed(bytes, start, end);
    switch (this.#relay?.pass(bytes, start, end)) {
      case "complete":
        return this.#complete(this.#pod.framer.at < end);
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
    this.#isOpen = false;
    if (this.#phase === "uploading") return; // it may still read
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
    return this.#phase !== "done" && this.#phase !== "uploading";
  }

  podClosed(): void {
    this.#fail(this.#error("ResponseLost", new Error("the connection was closed before a whole response")));
  }

  get place() {
    return this.#upstream.target;
  }

  podGone(nowMs: number): void {
    this.#limits.podGone(nowMs);
  }

  check(nowMs: number): void {
    const { socket } = this.#upstream;
    const hasReadOn = socket.bytesRead !== this.#bytesRead;
    this.#bytesRead = socket.bytesRead;
    // Such a connection cannot report its end.
    if (socket.errored && this.wantsResponse && !hasReadOn) {
      this.#tunnel?.cut();
      return this.#fail(this.#error("ResponseLost", socket.errored));
    }
    // The sandbox owes nothing once it has taken everything that its client has sent, and that is not the whole request.
    const late = this.#limits.late(this.#progress, this.#owesNoBytes && this.#sender.waitsForClient, nowMs);
    if (late) this.#fail(this.#error(late));
  }

  /** Whether the sandbox is not within its response, so that only its taking of the request counts. */
  get #owesNoBytes(): boolean {
    return this.#phase === "sending" || this.#phase === "uploading";
  }

  /** Before the response only bytes to the sandbox count; later also those that the client took. */
  get #progress(): number {
    const { bytesRead, bytesWritten } = this.#upstream.socket;
    if (this.#owesNoBytes) return bytesWritten;
    return bytesRead + bytesWritten + this.#exchange.bytesOut - this.#exchange.out.queuedBytes;
  }

  #begin(phase: "answering" | "tunnel", idleMs: number): void {
    this.#phase = phase;
    this.#sender.answered();
    this.#limits.limit(idleMs, this.#options.clock.ticksMs());
    this.#how.onFirstByte();
  }

  /** The response is complete. `isFollowed`: by bytes that no one asked for. */
  #complete(isFollowed: boolean): void {
    this.#events?.ended();
    const { body, dropsRest } = this.#exchange;
    const { isSent, isSentFirst } = this.#sender;
    const isUnwanted = isFollowed || dropsRest || !this.#upstream.socket.writable;
    if (isSent || isUnwanted) return this.#conclude(isSentFirst && !isFollowed);
    this.#phase = "uploading";
    const { proxyTimeoutMs, clock } = this.#options;
    this.#limits.sandbox(proxyTimeoutMs, clock.ticksMs());
    this.#exchange.finishDownload();
    if (body.complete) this.#concludeOnceSent();
    else body.readOn();
  }

  #concludeOnceSent(): void {
    this.#sender.onceSent(() => {
      if (this.#phase === "uploading") this.#conclude(false);
    });
  }

  /** Both directions have ended. `isEven`: the one of the request first, and nothing followed the response. */
  #conclude(isEven: boolean): void {
    const isUploading = this.#phase === "uploading";
    this.#phase = "done";
    const { socket } = this.#upstream;
    const relay = this.#relay;
    const port = this.#port;
    this.#pod.rest();
    if (relay && port && isEven && this.#mayServeAnother(relay)) {
      this.#port = undefined;
      this.#options.pool.put(port, socket, keepAliveMs(relay.keepAlive), this.#exchange.body.length > 0);
    } else this.#sender.close();
    this.#leave();
    this.#settled.resolve();
    if (isUploading) this.#exchange.uploaded();
    else this.#exchange.finish();
  }

  /** After an offer to upgrade the protocol is unknown. */
  #mayServeAnother({ keepsAlive }: ResponseRelay): boolean {
    return keepsAlive && this.#isOpen && !this.#limits.isPodGone && !this.#exchange.head.takesConnection;
  }

  #switch(head: ResponseHead, early: Buffer): void {
    const { tunnelIdleMs, tunnelLifetimeMs: totalMs, clock, sweep } = this.#options;
    this.#begin("tunnel", tunnelIdleMs);
    this.#limits.total(totalMs, clock.ticksMs());
    this.#tunnel = new StreamTunnel(this.#exchange, this.#pod, { clock, sweep, tunnelIdleMs, ...this.#how });
    this.#tunnel.start(head, early);
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
    if (this.#phase === "uploading") return this.#conclude(false);
    const answered = this.#phase !== "sending";
    this.#phase = "done";
    this.#leave();
    if (!this.#tunnel) this.#pod.rest();
    this.#exchange.body.discard();
    // After a close frame the tunnel of a WebSocket ends both sides.
    if (!answered || !this.#exchange.endEarly()) this.#sender.close();
    if (!answered) this.#settled.reject(cause);
    this.#settled.resolve();
  }
}
