import { clientView } from "../headers/base-path.ts";
import { ownLines } from "../headers/own-fields.ts";
import { keepAliveMs } from "../pod-connections/pool.ts";
import type { ResponseRules } from "../proxy-interface.ts";
import { Outgoing } from "../socket/outgoing.ts";
import { isBehind } from "../socket/queue.ts";
import { type BodyParts, type BodyProgress, relayBody } from "./frame-body.ts";
import type { Exchange } from "./front/exchange.ts";
import { ChunkEncoder } from "./parse/chunk-encoder.ts";
import type { ResponseHead } from "./parse/response-head.ts";
import { type ResponseFraming, responseText, responseTrailers } from "./proxy/head-text.ts";
import type { PodConnection } from "./proxy/pod-connection.ts";

/** Forwards one response to the client, head and body, in a framing that the client understands. */
export class ResponseRelay implements BodyParts {
  readonly #exchange: Exchange;
  readonly #pod: PodConnection;
  readonly #out: Outgoing;
  readonly #framing: ResponseFraming;
  readonly #encoder: ChunkEncoder | undefined;
  readonly #bytesBefore: number;
  /** Whether the client's connection ends with this response. */
  readonly last: boolean;
  /** Whether the connection to the Pod may serve another request. */
  readonly keepsAlive: boolean;
  /** The timeout that the sandbox stated for idle connections, in milliseconds. */
  readonly keepAliveMs: number | undefined;

  constructor(head: ResponseHead, exchange: Exchange, pod: PodConnection, how: ResponseRules) {
    this.#exchange = exchange;
    this.#pod = pod;
    this.#out = new Outgoing(exchange.connection.socket);
    this.#framing = framingFor(head, exchange.head.wire.minorVersion);
    this.#encoder = this.#framing === "chunked" ? new ChunkEncoder() : undefined;
    this.#bytesBefore = exchange.bytesOut;
    this.keepsAlive = head.keepsAlive;
    this.keepAliveMs = head.facts.hasKeepAlive ? keepAliveMs(head.valueOf("keep-alive")) : undefined;
    this.last = exchange.begin(head.status, this.#framing === "data");
    const view = clientView(exchange.head, how);
    const lines = `${ownLines(how)}${exchange.connectionLine(this.last)}`;
    this.#out.text(responseText(head, this.#framing, lines, view));
    pod.framer.begin(head.framing, head.contentLength);
  }

  /** Forwards the bytes; the head goes out with the first of them. */
  pass(bytes: Buffer, start: number, end: number): BodyProgress {
    const { framer } = this.#pod;
    const progress = relayBody(framer, bytes, start, end, this.#framing === "same", this);
    this.#exchange.bytesOut = this.#bytesBefore + framer.bodyBytes;
    if (progress === "complete") this.#end();
    this.#out.flush();
    return progress;
  }

  /** The sandbox ended its side. Returns whether that completes the response. */
  finish(): boolean {
    if (!this.#pod.framer.finish()) return false;
    this.#end();
    this.#out.flush();
    return true;
  }

  /** Whether the client takes more now. */
  get takesMore(): boolean {
    return !isBehind(this.#exchange.connection.socket);
  }

  part(bytes: Buffer, from: number, to: number): void {
    if (this.#encoder) this.#out.text(this.#encoder.before(to - from));
    this.#out.bytes(this.#pod.place, bytes, from, to);
  }

  #end(): void {
    if (this.#encoder) this.#out.text(this.#encoder.end());
    else if (this.#framing === "same" && this.#pod.framer.trailers) {
      this.#out.text(responseTrailers(this.#pod.framer.trailers));
    }
    this.#pod.framer.dropTrailers();
  }
}

function framingFor(head: ResponseHead, clientMinorVersion: 0 | 1): ResponseFraming {
  if (!head.facts.isChunked && head.framing !== "close") return "same";
  if (clientMinorVersion === 0) return "data";
  return head.framing === "close" ? "chunked" : "same";
}
