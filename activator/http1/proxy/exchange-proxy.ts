import type { Upstream } from "../../connect/connector.ts";
import { ActivatorError, type ErrorCode } from "../../failures/errors-for-clients.ts";
import type { CountedPort } from "../../pod-connections/pool.ts";
import type { RequestOwner } from "../../pod-connections/request-writer.ts";
import type { ProxyRequestOptions } from "../../proxy-interface.ts";
import { ClientGone } from "../../request.ts";
import type { Watched } from "../../sweep.ts";
import type { ClientListener, Exchange } from "../front/exchange.ts";
import type { Refusal } from "../parse/refusals.ts";
import { isEventStream, type ResponseHead } from "../parse/response-head.ts";
import { isOffered } from "../parse/upgrade-offer.ts";
import { RequestRelay } from "../request-relay.ts";
import { ResponseRelay } from "../response-relay.ts";
import type { Http1ProxyOptions } from "./create-http1-proxy.ts";
import { EventStream } from "./event-stream.ts";
import { ExchangeLimits } from "./exchange-limits.ts";
import { requestText } from "./head-text.ts";
import { PodConnection, type ResponseTaker } from "./pod-connection.ts";
import { startTunnel } from "./tunnel.ts";

/**
 * One exchange between a client and a sandbox.
 *
 *   sending ──response──▶ answering ──complete──▶ uploading ──request sent, or not wanted──▶ done
 *      │ └─────101──────▶ tunnel ────both ends──▶ done
 *      └── fails: the client gets an error            (later failures cut the client's connection)
 *
 * Uploading: the client has its response, and the rest of its request still goes to the sandbox.
 */
type Phase = "sending" | "answering" | "uploading" | "tunnel" | "done";

export class ExchangeProxy implements ResponseTaker, RequestOwner, ClientListener, Watched {
  sweepIndex = -1;
  readonly #exchange: Exchange;
  readonly #upstream: Upstream;
  readonly #pod: PodConnection;
  readonly #up: RequestRelay;
  readonly #how: ProxyRequestOptions;
  readonly #options: Http1ProxyOptions;
  readonly #limits: ExchangeLimits;
  readonly #settled = Promise.withResolvers<void>();
  #phase: Phase = "sending";
  #relay: ResponseRelay | undefined;
  /** Set while the request is counted there. */
  #port: CountedPort | undefined;
  #continued = false;
  #events: EventStream | undefined;
  /** The sandbox has not ended its side. */
  #isOpen = true;

  constructor(exchange: Exchange, upstream: Upstream, how: ProxyRequestOptions, options: Http1ProxyOptions) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#how = how;
    this.#options = options;
    this.#pod = PodConnection.of(upstream.socket, upstream.target.namespace, options);
    this.#up = new RequestRelay(upstream.socket, exchange.body, this, options.maxRequestBodyBytes);
    this.#limits = new ExchangeLimits(options.proxyTimeoutMs);
  }

  /** Resolves when the exchange is over; rejects with the error to answer if no response has begun. */
  run(): Promise<void> {
    const { head, connection, body, left } = this.#exchange;
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
    this.#exchange.proxiedBy(this, target.namespace);
    this.#pod.expect({ isHead: head.method === "HEAD", askedUpgrade: head.upgrade }, this);
    this.#up.text(requestText(head, this.#how, target));
    head.sent();
    body.pourInto(this.#up);
    this.#up.flush();
    if (this.#phase === "done") return this.#settled.promise; // the kept body was too large
    this.#how.use.dispatched();
    if (head.expectsContinue && !body.complete) this.#continue();
    connection.socket.readOn();
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
    this.#fail(new ClientGone("the client left"));
  }

  clientDrained(): void {
    this.#pod.readOn();
  }

  // The sandbox.

  get wantsResponse(): boolean {
    return this.#phase === "uploading" || (this.#relay?.takesMore ?? true);
  }

  interim({ status }: ResponseHead): void {
    // Other interim responses are dropped: some clients take a 103 for the final response.
    if (status === 100) this.#continue();
  }

  responded(head: ResponseHead, bytes: Buffer, start: number, end: number): void {
    if (head.status === 101) {
      if (!isOffered(head.valueOf("upgrade"), this.#exchange.head.upgradeOffer)) return this.refused("UpgradeNotAsked");
      return this.#switch(head, bytes.subarray(start, end));
    }
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
    this.#exchange.connection.socket.readOn();
  }

  /** The sandbox may have answered before it hung up. */
  podTakesNoMore(): boolean {
    this.#exchange.connection.socket.readOn();
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
    const late = this.#limits.late(this.#progress, this.#waitsForClient, nowMs);
    if (late) this.#fail(this.#error(late));
  }

  /** Whether the sandbox owes nothing: it has taken everything that its client has sent, and that is not the whole request. */
  get #waitsForClient(): boolean {
    return this.#owesNoBytes && this.#up.waitsForClient;
  }

  /** Whether the sandbox is not within its response, so that only its taking of the request counts. */
  get #owesNoBytes(): boolean {
    return this.#phase === "sending" || this.#phase === "uploading";
  }

  /**
   * Before the response only bytes to the sandbox count: interim responses must not extend the sandbox's limit. Node cannot see
   * how the send buffer of the kernel drains; docs/limits.md says what that means for slow clients.
   */
  get #progress(): number {
    const { bytesRead, bytesWritten } = this.#upstream.socket;
    if (this.#owesNoBytes) return bytesWritten;
    return bytesRead + bytesWritten + this.#exchange.connection.socket.bytesWritten;
  }

  #continue(): void {
    const { head, connection } = this.#exchange;
    if (this.#continued || this.#phase !== "sending" || head.wire.minorVersion === 0) return;
    this.#continued = true;
    connection.socket.write("HTTP/1.1 100 Continue\r\n\r\n", "latin1");
  }

  #begin(phase: "answering" | "tunnel", idleMs: number): void {
    this.#phase = phase;
    this.#up.answered();
    this.#limits.limit(idleMs, this.#options.clock.ticksMs());
    this.#how.onFirstByte();
  }

  /** The response is complete. `isFollowed`: by bytes that no one asked for. */
  #complete(isFollowed: boolean): void {
    this.#events?.ended();
    const { body, dropsRest, connection } = this.#exchange;
    const { isSent, isSentFirst } = this.#up;
    const isUnwanted = isFollowed || dropsRest || !this.#upstream.socket.writable;
    if (isSent || isUnwanted) return this.#conclude(isSentFirst && !isFollowed);
    this.#phase = "uploading";
    const { proxyTimeoutMs, clock } = this.#options;
    this.#limits.sandbox(proxyTimeoutMs, clock.ticksMs());
    this.#exchange.finishDownload(this.#relay?.last ?? true);
    if (body.complete) this.#concludeOnceSent();
    else connection.socket.readOn();
  }

  #concludeOnceSent(): void {
    this.#up.onceSent(() => {
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
      this.#options.pool.put(port, socket, relay.keepAliveMs, this.#exchange.body.length > 0);
    } else this.#up.close();
    this.#exchange.body.discard();
    this.#leave();
    this.#settled.resolve();
    if (isUploading) this.#exchange.uploaded();
    else this.#exchange.finish(relay?.last ?? true);
  }

  #mayServeAnother({ keepsAlive }: ResponseRelay): boolean {
    return keepsAlive && this.#isOpen && !this.#limits.isPodGone && !this.#exchange.head.takesConnection;
  }

  #switch(head: ResponseHead, early: Buffer): void {
    const { tunnelIdleMs, tunnelLifetimeMs, clock } = this.#options;
    this.#begin("tunnel", tunnelIdleMs);
    this.#limits.total(tunnelLifetimeMs, clock.ticksMs());
    startTunnel(this.#exchange, this.#pod, { head, early }, { ...this.#options, ...this.#how });
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

  /** Ends the exchange early: with an error if no response has begun, else by closing the client's connection. */
  #fail(cause: ActivatorError | ClientGone): void {
    if (this.#phase === "done") return;
    if (this.#phase === "uploading") return this.#conclude(false);
    const answered = this.#phase !== "sending";
    this.#phase = "done";
    this.#leave();
    this.#pod.rest();
    this.#exchange.body.discard();
    // After a close frame the relay of a WebSocket ends both sides.
    if (!answered || !this.#exchange.endEarly()) this.#up.close();
    if (!answered) this.#settled.reject(cause);
    this.#settled.resolve();
  }
}
