import type { Clock } from "../../../lib/clock.ts";
import { EventStreamLines } from "../../activity/event-stream-lines.ts";
import type { CarryOptions, OpenListener } from "../../carry/carry.ts";
import { keepAliveMs, type Pool } from "../../carry/pool.ts";
import { StallWatch } from "../../carry/stall-watch.ts";
import { ActivatorError, type ErrorCode } from "../../errors.ts";
import type { Upstream } from "../../reach/connector.ts";
import { ClientGone } from "../../request.ts";
import { Outgoing } from "../../socket/outgoing.ts";
import type { BufferLoans, ReadPlace } from "../../socket/read-place.ts";
import { isBehind } from "../../socket/wire-socket.ts";
import type { Sweep, Watched } from "../../sweep.ts";
import type { Carrying, Exchange } from "../front/exchange.ts";
import type { BodySink } from "../front/request-body.ts";
import type { Refusal } from "../refusals.ts";
import type { ResponseHead } from "../response-head.ts";
import { requestText } from "./head-text.ts";
import { PodConnection, type ResponseTaker } from "./pod-connection.ts";
import { ResponseRelay } from "./response-relay.ts";
import { startTunnel } from "./tunnel.ts";

export interface CarrierOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  readonly maxHeaderBytes: number;
  /** 0 means no limit. */
  readonly maxRequestBodyBytes: number;
  /** Longest time in which no byte of a response moves; 0 means no limit. */
  readonly streamIdleMs: number;
  /** Longest life of one exchange from its first byte to the sandbox; 0 means no limit. */
  readonly totalMs: number;
  readonly tunnelIdleMs: number;
  readonly tunnelLifetimeMs: number;
}

/**
 * One exchange between a client and a sandbox.
 *
 *   sending ──response──▶ answering ──complete──▶ done
 *      │ └─────101──────▶ tunnel ────both ends──▶ done
 *      └── fails: the client gets an error            (later failures cut the client's connection)
 */
type Phase = "sending" | "answering" | "tunnel" | "done";

interface EventStream {
  readonly listener: OpenListener;
  readonly lines: EventStreamLines;
}

export class Carriage implements ResponseTaker, BodySink, Carrying, Watched {
  sweepIndex = -1;
  readonly #exchange: Exchange;
  readonly #upstream: Upstream;
  readonly #pod: PodConnection;
  readonly #up: Outgoing;
  readonly #how: CarryOptions;
  readonly #options: CarrierOptions;
  readonly #stall = new StallWatch();
  readonly #settled = Promise.withResolvers<void>();
  #phase: Phase = "sending";
  #relay: ResponseRelay | undefined;
  #continued = false;
  #events: EventStream | undefined;
  #endMs = Number.POSITIVE_INFINITY;
  #bytesRead = -1;

  constructor(exchange: Exchange, upstream: Upstream, how: CarryOptions, options: CarrierOptions) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#how = how;
    this.#options = options;
    this.#pod = PodConnection.of(upstream.socket, options.maxHeaderBytes, options.loans);
    this.#up = new Outgoing(upstream.socket);
  }

  /** Resolves when the exchange is over; rejects with what to answer while nothing was answered yet. */
  run(): Promise<void> {
    const { head, connection, body, left } = this.#exchange;
    const { socket, target } = this.#upstream;
    if (left || socket.destroyed) {
      this.#fail(left ? new ClientGone("the client left") : this.#error("ResponseLost"));
      return this.#settled.promise;
    }
    const { totalMs, clock, sweep } = this.#options;
    const nowMs = clock.ticksMs();
    if (totalMs > 0) this.#endMs = nowMs + totalMs;
    this.#stall.limit(this.#how.responseStartMs, nowMs);
    sweep.add(this);
    this.#exchange.carriedBy(this);
    this.#pod.expect({ isHead: head.method === "HEAD", askedUpgrade: head.upgrade }, this);
    const authority = `${target.ip.includes(":") ? `[${target.ip}]` : target.ip}:${target.port}`;
    this.#up.text(requestText(head, { ...this.#how, authority }));
    body.pourInto(this);
    this.#up.flush();
    if (head.expectsContinue && !body.complete) this.#continue();
    if (this.#phase === "done") return this.#settled.promise; // the body was too large already
    connection.readOn();
    socket.resume();
    return this.#settled.promise;
  }

  // The request's body.

  get wantsBody(): boolean {
    return !isBehind(this.#upstream.socket);
  }

  bodyBytes(place: ReadPlace, bytes: Buffer, from: number, to: number): void {
    if (this.#isOver() || !this.#isWithinLimit()) return;
    this.#up.bytes(place, bytes, from, to);
    this.#up.flush();
  }

  keptBytes(bytes: Buffer): void {
    if (this.#isWithinLimit()) this.#up.piece(bytes);
  }

  bodyEnded(last: string): void {
    if (last === "" || this.#isOver()) return;
    this.#up.text(last);
    this.#up.flush();
  }

  // The client.

  clientLeft(): void {
    this.#fail(new ClientGone("the client left"));
  }

  clientDrained(): void {
    this.#upstream.socket.resume();
  }

  // The sandbox.

  get wantsResponse(): boolean {
    return this.#relay?.takesMore ?? true;
  }

  interim({ status }: ResponseHead): void {
    // Others are dropped: some clients take a 103 for the final answer (spec router 9).
    if (status === 100) this.#continue();
  }

  responded(head: ResponseHead, bytes: Buffer, start: number, end: number): void {
    if (head.status === 101) return this.#switch(head, bytes.subarray(start, end));
    this.#begin("answering", this.#options.streamIdleMs);
    this.#relay = new ResponseRelay(head, this.#exchange, this.#pod);
    if (isEventStream(head)) this.#events = this.#openEventStream();
    this.body(bytes, start, end);
  }

  body(bytes: Buffer, start: number, end: number): void {
    if (this.#events?.lines.sawEvent(bytes, start, end)) this.#events.listener.moved();
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
    this.#exchange.connection.readOn();
  }

  /** It may have answered before it hung up. */
  podTakesNoMore(): boolean {
    this.#exchange.connection.readOn();
    this.#upstream.socket.resume();
    return this.#phase !== "done";
  }

  podClosed(): void {
    this.#fail(this.#error("ResponseLost", new Error("the connection was closed before a whole response")));
  }

  check(nowMs: number): void {
    const { socket } = this.#upstream;
    if (socket.errored && this.wantsResponse && !this.#hasReadOn(socket.bytesRead)) {
      return this.#fail(this.#error("ResponseLost", socket.errored));
    }
    const client = this.#exchange.connection.socket;
    const progress = socket.bytesRead + socket.bytesWritten + client.bytesWritten;
    if (nowMs >= this.#endMs || this.#stall.isStalled(progress, nowMs)) this.#fail(this.#error("SandboxSlow"));
  }

  /** Whether more of an answer has come since the last look, on a connection that cannot tell of its end. */
  #hasReadOn(bytesRead: number): boolean {
    const before = this.#bytesRead;
    this.#bytesRead = bytesRead;
    return bytesRead !== before;
  }

  #continue(): void {
    const { head, connection } = this.#exchange;
    if (this.#continued || this.#phase !== "sending" || head.wire.minorVersion === 0) return;
    this.#continued = true;
    connection.socket.write("HTTP/1.1 100 Continue\r\n\r\n", "latin1");
  }

  #begin(phase: "answering" | "tunnel", idleMs: number): void {
    this.#phase = phase;
    this.#stall.limit(idleMs, this.#options.clock.ticksMs());
    this.#how.onFirstByte();
  }

  #complete(nothingFollows: boolean): void {
    this.#phase = "done";
    const { socket, target } = this.#upstream;
    const relay = this.#relay;
    this.#pod.rest();
    // A write to the client may still hold what lies in the connection's own buffer.
    if (!relay?.takesMore) this.#pod.place.release();
    if (relay && nothingFollows && this.#mayCarryAnother(relay)) {
      this.#options.pool.put(target, socket, relay.keepAlive === undefined ? undefined : keepAliveMs(relay.keepAlive));
    } else socket.destroy();
    this.#settle();
    this.#exchange.finish(relay?.last ?? true);
  }

  /** What is still to come of the request is nobody's; and after an offer to upgrade, who knows what is spoken. */
  #mayCarryAnother({ keepsAlive }: ResponseRelay): boolean {
    const { head, body } = this.#exchange;
    return keepsAlive && body.complete && !head.upgrade && this.#upstream.socket.writableLength === 0;
  }

  #switch(head: ResponseHead, early: Buffer): void {
    const { tunnelIdleMs, tunnelLifetimeMs, clock } = this.#options;
    this.#begin("tunnel", tunnelIdleMs);
    this.#endMs = tunnelLifetimeMs > 0 ? clock.ticksMs() + tunnelLifetimeMs : Number.POSITIVE_INFINITY;
    startTunnel(this.#exchange, this.#pod, { head, early }, { ...this.#options, onOpen: this.#how.onOpen });
  }

  // It ends by its client or with its Pod: we have nothing to say in it that an event source would understand.
  #openEventStream(): EventStream | undefined {
    const listener = this.#how.onOpen?.({ close: () => {} });
    return listener && { listener, lines: new EventStreamLines() };
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

  #settle(): void {
    this.#options.sweep.remove(this);
    this.#settled.resolve();
  }

  /** What ends the exchange before its time: told to the client if it can be, else it sees a cut connection. */
  #fail(cause: ActivatorError | ClientGone): void {
    if (this.#phase === "done") return;
    const answered = this.#phase !== "sending";
    this.#phase = "done";
    this.#options.sweep.remove(this);
    this.#pod.rest();
    this.#upstream.socket.destroy();
    if (answered) this.#exchange.abort();
    else this.#settled.reject(cause);
    this.#settled.resolve();
  }
}

// One of known length ends by itself; so the field is looked for in few responses.
function isEventStream(head: ResponseHead): boolean {
  if (head.framing === "length" || head.framing === "none") return false;
  return /^text\/event-stream\b/i.test(head.valueOf("content-type") ?? "");
}
