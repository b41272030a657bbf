import { STATUS_CODES } from "node:http";
import type { ClientRequest } from "../../http1/front/client-request.ts";
import type { Exchange } from "../../http1/front/exchange.ts";
import type { BodySink } from "../../http1/front/request-body.ts";
import { ChunkEncoder } from "../../http1/parse/chunk-encoder.ts";
import type { HeaderPair } from "../../request.ts";
import { GatheredBytes } from "../../socket/gathered-bytes.ts";
import { Outgoing, textBytesMax } from "../../socket/outgoing.ts";
import { isBehind } from "../../socket/queue.ts";
import type { Kept, ReadPlace } from "../../socket/read-place.ts";
import type { StreamListener } from "../front/stream-exchange.ts";
import type { CallBodySink, CallClient } from "../grpc/call-client.ts";
import { StreamWait, type WaitHost, type WaitingSides } from "../stream-wait.ts";

/** A request of HTTP/1.1 that carries a call of gRPC-Web. Its response has chunks, so that the client can tell its end from a cut. */
export class WebExchange implements CallClient, BodySink, WaitingSides {
  readonly #exchange: Exchange;
  readonly #host: WaitHost;
  #listener: StreamListener | undefined;
  #wait: StreamWait | undefined;
  readonly #out: Outgoing;
  /** Absent: the client has no chunks, and the end of its connection is that of the response. */
  readonly #encoder: ChunkEncoder | undefined;
  /** The body of the current read, in one buffer: a client chooses how many chunks it sends. */
  readonly #read = new GatheredBytes();
  #sink: CallBodySink | undefined;
  /** Whether the connection ends with the response. */
  #isLast = true;

  constructor(exchange: Exchange, host: WaitHost) {
    this.#exchange = exchange;
    this.#host = host;
    this.#out = new Outgoing(exchange.connection.socket);
    if (exchange.head.wire.minorVersion === 1) this.#encoder = new ChunkEncoder();
  }

  get head(): ClientRequest {
    return this.#exchange.head;
  }

  get seenMs(): number {
    return this.#exchange.seenMs;
  }

  get left(): boolean {
    return this.#exchange.left;
  }

  get fields(): readonly HeaderPair[] {
    return this.head.headers;
  }

  get bodyLength(): number {
    return this.#exchange.body.length;
  }

  proxiedBy(listener: StreamListener): void {
    const exchange = this.#exchange;
    exchange.proxiedBy(listener);
    this.#listener = listener;
    if (this.#wait) return;
    const { namespace } = listener.place;
    const wait = new StreamWait(this, { namespace, connection: exchange.connection }, this.#host);
    this.#wait = wait;
    exchange.onEnded(() => wait.close());
  }

  /** What waits on the stream to the sandbox. The connection of the client is one of HTTP/1.1, with its own limits. */
  get waitingBytes(): number {
    return this.#listener?.waitingBytes ?? 0;
  }

  get passedBytes(): number {
    const { bytesOut, body } = this.#exchange;
    return bytesOut + body.length - this.waitingBytes - this.queuedBytes;
  }

  cutStalled(): void {
    this.abort();
  }

  bytesArrived(): void {
    this.#wait?.arrived();
  }

  pourInto(sink: CallBodySink): void {
    const { body, connection, head } = this.#exchange;
    this.#sink = sink;
    body.pourInto(this);
    if (head.expectsContinue && !body.complete) connection.socket.write("HTTP/1.1 100 Continue\r\n\r\n", "latin1");
    this.readOn();
  }

  readOn(): void {
    this.#exchange.connection.socket.readOn();
  }

  discard(): void {
    this.#exchange.body.discard();
  }

  // The request.

  get wantsBody(): boolean {
    return this.#sink?.wantsBody ?? false;
  }

  bodyBytes(_: ReadPlace, bytes: Buffer, from: number, to: number): void {
    this.#read.add(bytes.subarray(from, to));
  }

  keptBytes({ bytes }: Kept): void {
    this.#read.add(bytes);
    this.readEnded();
  }

  readEnded(): void {
    const bytes = this.#read.take();
    if (bytes) this.#sink?.bodyBytes(bytes);
  }

  bodyEnded(): void {
    this.readEnded();
    this.#sink?.bodyEnded();
  }

  // The response.

  get takesMore(): boolean {
    return !isBehind(this.#exchange.connection.socket);
  }

  get queuedBytes(): number {
    return this.#exchange.connection.socket.writableLength;
  }

  respond(status: number, fields: readonly HeaderPair[]): void {
    const exchange = this.#exchange;
    this.#isLast = exchange.begin(status, !this.#encoder);
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
    for (const [name, value] of fields) text += `${name}: ${value}\r\n`;
    if (this.#encoder) text += "Transfer-Encoding: chunked\r\n";
    this.#out.text(`${text}${exchange.connectionLine(this.#isLast)}\r\n`);
    this.#out.flush();
  }

  write(bytes: Buffer): void {
    this.#exchange.bytesOut += bytes.length;
    if (this.#encoder) this.#out.text(this.#encoder.before(bytes.length));
    if (bytes.length < textBytesMax) this.#out.text(bytes.toString("latin1"));
    else this.#out.piece(bytes);
    this.#out.flush();
  }

  /** The trailers are the last of the body, which is written. */
  end(trailers: readonly HeaderPair[]): void {
    const exchange = this.#exchange;
    exchange.endedBy(trailers);
    if (this.#encoder) this.#out.text(this.#encoder.end());
    this.#out.flush();
    exchange.body.discard();
    exchange.finish(this.#isLast);
  }

  abort(): void {
    this.#exchange.abort();
  }
}
