import { constants } from "node:http2";
import { runGuarded } from "../../../lib/guard/guard.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { WebSocketFrames } from "../../activity/web-socket-frames.ts";
import { clientView } from "../../headers/base-path.ts";
import { ownFields } from "../../headers/own-fields.ts";
import type { ResponseHead } from "../../http1/parse/response-head.ts";
import type { PodConnection } from "../../http1/proxy/pod-connection.ts";
import type { OpenListener, ProxyRequestOptions, ResponseRules } from "../../proxy-interface.ts";
import { isBehind } from "../../socket/queue.ts";
import type { ReadPlace } from "../../socket/read-place.ts";
import type { Patience } from "../../socket/relay.ts";
import { commonBuffer, type SocketReader, type WireSocket } from "../../socket/wire-socket.ts";
import type { Sweep } from "../../sweep.ts";
import { closeOnceEnded, isEnded } from "../close-once-ended.ts";
import { cutStream } from "../front/cut-stream.ts";
import type { StreamBodySink } from "../front/request-body.ts";
import type { StreamExchange } from "../front/stream-exchange.ts";
import type { Tunnel } from "../front/stream-host.ts";
import { responseFields } from "./response-fields.ts";

export interface StreamTunnelOptions extends ResponseRules {
  readonly clock: Clock;
  readonly sweep: Sweep;
  /** The maximum time without data, in milliseconds; 0: unlimited. */
  readonly tunnelIdleMs: number;
  readonly onOpen?: ProxyRequestOptions["onOpen"] | undefined;
}

/** How long both sides may take to end after our end, in milliseconds. */
const closeGraceMs = 1_000;

/** A close frame that says 1001, "going away" (RFC 6455, 5.5.1 and 7.4.1). */
const goingAway = Buffer.from([0x88, 0x02, 0x03, 0xe9]);

const proof: ReadonlySet<string> = new Set(["sec-websocket-accept", "content-length"]);

/**
 * A WebSocket over a stream (RFC 8441), relayed to a sandbox that speaks it over HTTP/1.1. The end of one side is forwarded alone,
 * and a reset as a reset.
 */
export class StreamTunnel implements SocketReader, StreamBodySink, Tunnel {
  readonly #exchange: StreamExchange;
  readonly #sandbox: WireSocket;
  readonly #pod: PodConnection;
  readonly #options: StreamTunnelOptions;
  readonly #up = new WebSocketFrames();
  readonly #down = new WebSocketFrames();
  #place: ReadPlace | undefined;
  #listener: OpenListener | undefined;
  /** The replica exits, or the connection is at its limit. */
  #leaving = false;
  /** The Pod is being suspended: nothing more of the client is forwarded. */
  #closing = false;
  #clientEnded = false;
  #sandboxEnded = false;

  constructor(exchange: StreamExchange, pod: PodConnection, options: StreamTunnelOptions) {
    this.#exchange = exchange;
    this.#pod = pod;
    this.#sandbox = pod.socket;
    this.#options = options;
  }

  start(head: ResponseHead, early: Buffer): void {
    const exchange = this.#exchange;
    exchange.begin(200);
    exchange.handOver(this);
    this.#listener = this.#options.onOpen?.({ close: () => this.#close() });
    this.#place = this.#pod.handOver();
    this.#sandbox.reader = this;
    const view = clientView(exchange.head, this.#options);
    const fields = responseFields(head, { keepsTrailer: false, drops: proof, view });
    exchange.respond([...fields, ...ownFields(this.#options).flat()], false);
    if (early.length > 0) this.#sandboxSent(early, early.length);
    exchange.body.pourInto(this);
    this.#pod.readOn();
  }

  /** Both sides have ended. A sandbox that reads slowly still gets what the client sent before. */
  get isDelivering(): boolean {
    const { stream, body } = this.#exchange;
    return (
      body.complete && this.#sandboxEnded && !this.#sandbox.destroyed && stream.rstCode === constants.NGHTTP2_NO_ERROR
    );
  }

  endGracefully(): boolean {
    return this.#end("grace");
  }

  /** Between two frames of the sandbox, the close frame is sent. Returns whether it was. */
  #end(patience: Patience): boolean {
    this.#leaving = true;
    const { stream, out } = this.#exchange;
    // Within a frame it would be read as a part of that frame.
    if (this.#down.isInFrame || !stream.writable || stream.closed) return false;
    if (this.#down.mayInsert) out.write(goingAway);
    else if (!this.#closing) return false; // the sandbox has said its last, and ends it
    out.end();
    this.#sandbox.end();
    this.#cutOffLater(patience);
    return true;
  }

  /** The sandbox was lost, so that no close frame of ours may end its side. */
  cut(): void {
    cutStream(this.#exchange.stream);
  }

  // What the client sends.

  get wantsBody(): boolean {
    return this.#closing || !this.#sandbox.writable || !isBehind(this.#sandbox);
  }

  bodyBytes(bytes: Buffer): void {
    this.#listener?.clientSends();
    if (this.#closing || !this.#sandbox.writable) return;
    if (this.#up.sawData(bytes, bytes.length)) this.#listener?.clientSpoke();
    this.#sandbox.write(bytes);
  }

  bodyEnded(): void {
    this.#clientEnded = true;
    this.#sandbox.end();
  }

  /** The stream is closed. */
  clientLeft(): void {
    if (!this.#clientEnded || !this.#sandboxEnded) this.#sandbox.reset();
  }

  // What the sandbox sends.

  nextBuffer(): Buffer {
    return this.#place?.next() ?? commonBuffer;
  }

  get wantsMore(): boolean {
    return this.#exchange.out.takesMore && (this.#place?.isFree ?? true);
  }

  take(bytes: Buffer, length: number): void {
    this.#place?.landed(bytes);
    if (this.#exchange.stream.writable) this.#sandboxSent(bytes, length);
    this.#place?.took(length, false);
  }

  ended(): void {
    this.#sandboxEnded = true;
    const { stream, out } = this.#exchange;
    if (!stream.writableEnded) out.end();
  }

  /** The client's bytes were sent to the sandbox. */
  drained(): void {
    this.#exchange.body.readOn();
  }

  /** The sandbox may have sent its last words before it hung up. What the client sends from now on is dropped. */
  writeFailed(): boolean {
    this.#sandbox.readOn();
    this.#exchange.body.readOn();
    return true;
  }

  /** Without an end before it, the sandbox was lost in the middle (RFC 9113, 8.5). */
  closed(): void {
    this.#place?.close();
    this.#listener?.sandboxEnded(); // what its client still takes needs no Pod
    const { stream } = this.#exchange;
    if (!this.#sandboxEnded) cutStream(stream);
    else if (!this.#clientEnded) this.#closeOnceEnded();
    this.#exchange.delivered();
  }

  #sandboxSent(bytes: Buffer, length: number): void {
    const before = this.#down.dataFrames;
    const sawData = this.#down.sawData(bytes, length);
    this.#exchange.bytesOut += length;
    this.#exchange.bytesArrived();
    this.#exchange.out.writeCopy(bytes.subarray(0, length));
    if (this.#leaving) queueMicrotask(() => runGuarded("pod-connection", () => this.#endAgain()));
    if (!sawData || this.#closing) return;
    // The rest of a frame that began before answers nothing.
    if (this.#down.dataFrames === before) this.#listener?.moved();
    else this.#listener?.sandboxSpoke();
  }

  /** The sandbox may have ended a frame. */
  #endAgain(): void {
    this.#end(this.#closing ? "untilTaken" : "grace");
  }

  #close(): void {
    this.#closing = true;
    if (this.#end("untilTaken")) return;
    if (!this.#sandboxEnded) return this.#resetUnlessEnded();
    this.#sandbox.end();
    this.#cutOffLater("untilTaken");
  }

  #cutOffLater(patience: Patience): void {
    this.#options.clock.after(closeGraceMs, () => this.#cutOff(patience));
  }

  /** A cut stream must not pass for complete. */
  #cutOff(patience: Patience): void {
    const { stream } = this.#exchange;
    if (this.#sandbox.writableLength > 0 || !this.#sandbox.readableEnded) this.#sandbox.reset();
    else this.#sandbox.destroy();
    if (this.#sandboxEnded && patience === "untilTaken") this.#closeOnceEnded();
    else if (isEnded(stream)) stream.close(constants.NGHTTP2_NO_ERROR);
    else cutStream(stream);
  }

  #closeOnceEnded(): void {
    const { sweep, clock, tunnelIdleMs: idleMs } = this.#options;
    closeOnceEnded(this.#exchange.stream, { sweep, nowMs: clock.ticksMs(), idleMs });
  }

  #resetUnlessEnded(): void {
    const { stream } = this.#exchange;
    this.#options.clock.after(closeGraceMs, () => {
      if (stream.writableEnded && this.#sandbox.writableEnded) return;
      this.#sandbox.reset();
      cutStream(stream);
    });
  }
}
