import type { ServerHttp2Stream } from "node:http2";
import { guarded, reportUnexpected } from "../../../lib/guard/guard.ts";
import { toResponse } from "../../failures/error-response.ts";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import type { ClientRequest } from "../../http1/front/client-request.ts";
import type { Place } from "../../pod-connections/place.ts";
import { bytesOf, type Ended, type HeaderPair, type Incoming, type Synthetic } from "../../request.ts";
import { dropSentTrailers } from "../node-internals/sent-fields.ts";
import type { StreamPlace } from "../room/stream-room.ts";
import { StreamWait } from "../stream-wait.ts";
import { AnswerTail } from "./answer-tail.ts";
import { cutConnection, cutStream } from "./cut-stream.ts";
import { pairsLength, textLength, valuesByName } from "./field-lines.ts";
import type { StreamBody } from "./request-body.ts";
import type { StreamRequest } from "./request-reader.ts";
import { respondAsIs } from "./respond-as-is.ts";
import type { StreamHost, Tunnel } from "./stream-host.ts";
import { StreamWriter } from "./stream-writer.ts";

/** The proxy of an exchange, for events of the client's side. */
export interface StreamListener {
  clientLeft(): void;
  clientDrained(): void;
  readonly place: Pick<Place, "namespace">;
  /** Bytes that it keeps besides what waits on the stream of the client. */
  readonly waitingBytes: number;
}

/** One stream of HTTP/2: a request and its response, as the rest of the activator and the proxy see it. */
export class StreamExchange implements Incoming {
  readonly head: ClientRequest;
  readonly webSocketKey: string | undefined;
  readonly body: StreamBody;
  readonly stream: ServerHttp2Stream;
  /** Writes the body of the response. */
  readonly out: StreamWriter;
  readonly seenMs: number;
  /** Body bytes sent to the client so far. */
  bytesOut = 0;
  readonly #host: StreamHost;
  #proxy: StreamListener | undefined;
  #wait: StreamWait | undefined;
  #status = 0;
  #responded = false;
  /** A request that was proxied may get an error of the activator, too. */
  #isOwnResponse = false;
  /** Set once it is served. */
  #place: StreamPlace | undefined;
  #left = false;
  #onLeave: (() => void) | undefined;
  #tunnel: Tunnel | undefined;
  /** The stream is closed, but not yet what it has become. */
  #isDelivering = false;
  #dropsRest = false;
  /** The response is written, and the sandbox still gets the request. */
  #isUploading = false;
  /** The response is written, but its trailers, perhaps none, have yet to end the stream. */
  #awaitsTrailers = false;
  /** Set once the response is written. */
  #tail: AnswerTail | undefined;
  #grpcStatus: string | undefined;
  #ended: Ended | undefined;
  readonly #onEnded: ((ended: Ended) => void)[] = [];

  constructor(stream: ServerHttp2Stream, { head, webSocketKey }: StreamRequest, body: StreamBody, host: StreamHost) {
    this.stream = stream;
    this.head = head;
    this.webSocketKey = webSocketKey;
    this.#host = host;
    this.seenMs = host.nowMs();
    const reset = () => cutStream(stream);
    stream.on(
      "aborted",
      guarded("http-front", () => this.#leave(), reset),
    );
    stream.on(
      "close",
      guarded("http-front", () => this.#closed()),
    );
    this.out = new StreamWriter(
      stream,
      guarded("http-front", () => this.#proxy?.clientDrained(), reset),
    );
    this.body = body;
    head.keptBody = body;
    const { contentLength } = head.wire.facts;
    body.begin({ contentLength, onSpoilt: (error) => this.#spoil(error), onArrival: this.bytesArrived });
  }

  get left(): boolean {
    return this.#left;
  }

  serve(): void {
    if (this.stream.session) this.#place = this.#host.room.take(this.stream.session);
    if (this.#place) this.#host.began(this);
  }

  onLeave(listener: (() => void) | undefined): void {
    this.#onLeave = listener;
  }

  get answerable(): boolean {
    return this.#status === 0 && !this.stream.closed && !this.stream.destroyed;
  }

  /** The request has a connection to the sandbox; `proxy` is called for events of the client from now on. */
  proxiedBy(proxy: StreamListener): void {
    this.#proxy = proxy;
    this.#place?.connected();
    this.#countWaiting(proxy.place.namespace);
  }

  /** Bytes of the client or of the sandbox have arrived, and may have to wait for the other. */
  readonly bytesArrived = (): void => this.#wait?.arrived();

  get waitingBytes(): number {
    return this.out.queuedBytes + this.body.keptBytes + (this.#proxy?.waitingBytes ?? 0);
  }

  get passedBytes(): number {
    return this.bytesOut + this.body.length - this.waitingBytes;
  }

  cutStalled(): void {
    if (this.out.unsentFields > 0)
      cutConnection(this.stream); // what nghttp2 keeps is freed with the connection alone
    else if (this.answerable) this.answer(toResponse(new ActivatorError("ResponseLost"), this.head));
    else cutStream(this.stream);
    this.#leave();
  }

  #countWaiting(namespace: string): void {
    const { session: connection, destroyed } = this.stream;
    if (connection && !destroyed) this.#wait ??= new StreamWait(this, { namespace, connection }, this.#host);
    this.bytesArrived();
  }

  answer(response: Synthetic): void {
    const { status, headers, trailers, grpcStatus } = response;
    const bytes = bytesOf(response);
    this.#isOwnResponse = true;
    this.#place?.leave();
    this.#grpcStatus = grpcStatus;
    const fields = headers.flatMap(([name, value]) => [name.toLowerCase(), value]);
    this.begin(status);
    // The client may not read this for minutes, and nothing else reads its request any more.
    this.head.sent();
    this.body.discard();
    if (bytes.length > 0) fields.push("content-length", String(bytes.length));
    const hasBody = this.head.method !== "HEAD" && bytes.length > 0;
    if (trailers) this.endWith([...trailers]);
    this.respond(fields, !hasBody && !trailers, trailers !== undefined);
    if (trailers) this.stream.end();
    else if (hasBody) {
      this.bytesOut += bytes.length;
      this.stream.end(bytes);
    }
    this.#countWaiting("");
    this.finish();
  }

  /** A response begins with this status. */
  begin(status: number): void {
    this.#status = status;
    this.#dropsRest = status >= 400 && !this.body.complete;
  }

  /** Whether the rest of the request is not wanted: most programs that answer so refuse it. */
  get dropsRest(): boolean {
    return this.#dropsRest;
  }

  /** Sends the head of the response that has begun. */
  respond(fields: readonly string[], endStream: boolean, waitForTrailers = false): void {
    this.#awaitsTrailers = waitForTrailers;
    this.out.gaveFields(textLength(fields));
    this.bytesArrived();
    respondAsIs(this.stream, [":status", String(this.#status), ...fields], { endStream, waitForTrailers });
  }

  /** These end the response, once its body is written. Called before `respond`, or with fields that are added later. They are taken out then. */
  endWith(trailers: HeaderPair[]): void {
    this.out.trailers = trailers;
    const send = () => this.#sendTrailers(trailers.splice(0));
    this.stream.on("wantTrailers", guarded("http-front", send, this.abort));
  }

  /** The response is its head alone, which says how a call of gRPC ended. */
  endedBy(fields: Iterable<HeaderPair>): void {
    for (const [name, value] of fields) if (name === "grpc-status") this.#grpcStatus ??= value;
  }

  /** Ends the stream of a response that waited for its trailers. */
  #sendTrailers(trailers: readonly HeaderPair[]): void {
    const { stream } = this;
    this.#awaitsTrailers = false;
    this.endedBy(trailers);
    this.out.gaveFields(pairsLength(trailers));
    this.bytesArrived();
    stream.sendTrailers(valuesByName(trailers));
    dropSentTrailers(stream);
    if (this.#isOverForClient) this.#tail?.closeOnceEnded();
  }

  /** The response is written. What the client still sends of the request is not read. */
  finish(): void {
    this.finishDownload();
    this.uploaded();
  }

  /** Nothing more of the request goes to the sandbox. */
  uploaded(): void {
    this.#isUploading = false;
    this.body.discard();
    if (!this.body.complete && !this.#awaitsTrailers) this.#tail?.closeOnceEnded();
    if (this.#isDelivering) this.#conclude();
  }

  /** Whether the response is written, and the rest of the request is not wanted. */
  get #isOverForClient(): boolean {
    return this.#responded && !this.#isUploading && !this.body.complete;
  }

  /** The response is written, but the rest of the request still goes to the sandbox, until `uploaded`. */
  finishDownload(): void {
    this.#responded = true;
    this.#isUploading = true;
    const isUploading = () => this.#isUploading;
    this.#tail = new AnswerTail(this.stream, this.#host, { isOwn: this.#isOwnResponse, isUploading });
    this.#tail.watch();
  }

  onEnded(listener: (ended: Ended) => void): void {
    if (this.#ended) listener(this.#ended);
    else this.#onEnded.push(listener);
  }

  readonly abort = (): void => void this.endEarly();

  /** As `abort`. Returns whether a close frame was sent: then the tunnel ends the stream. */
  endEarly(): boolean {
    if (this.#responded) return false;
    if (this.#tunnel?.endGracefully() === true) return true;
    cutStream(this.stream);
    return false;
  }

  /** The stream is a tunnel from now on. */
  handOver(tunnel: Tunnel): void {
    this.#tunnel = tunnel;
    this.#host.opened(tunnel);
  }

  /** The sandbox's connection of the tunnel is closed. */
  delivered(): void {
    if (this.#isDelivering) this.#conclude();
  }

  /** The client sent a malformed body. It gets an error if no byte of a response was sent, and the request ends. */
  #spoil(error: unknown): void {
    if (!(error instanceof ActivatorError)) reportUnexpected("http-front", error);
    else this.#host.refused(error);
    if (error instanceof ActivatorError && this.answerable) this.answer(toResponse(error, this.head));
    else cutStream(this.stream);
    this.#leave();
  }

  /** The client has left: waiting and proxying stop. */
  #leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#onLeave?.();
    this.#proxy?.clientLeft();
  }

  #closed(): void {
    this.#isDelivering = this.#tunnel?.isDelivering ?? (this.#isUploading && this.body.complete);
    if (!this.#isDelivering) this.#conclude();
  }

  #conclude(): void {
    this.#isDelivering = false;
    if (this.#tunnel) this.#host.tunnelClosed(this.#tunnel);
    this.body.discard();
    if (!this.#responded || this.#isUploading) this.#leave();
    // The exchange learns first that the client left, and ends with that cause.
    setImmediate(guarded("http-front", () => this.#over()));
  }

  #over(): void {
    if (this.#ended) return;
    this.#wait?.close();
    this.#ended = { status: this.#status || 499, bytesOut: this.bytesOut, grpcStatus: this.#grpcStatus };
    for (const listener of this.#onEnded) listener(this.#ended);
    this.#onEnded.length = 0;
    this.#place?.leave();
    if (this.#place) this.#host.ended(this);
  }
}
