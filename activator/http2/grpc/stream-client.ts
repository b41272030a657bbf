import { constants } from "node:http2";
import type { ClientRequest } from "../../http1/front/client-request.ts";
import type { HeaderPair } from "../../request.ts";
import type { StreamExchange, StreamListener } from "../front/stream-exchange.ts";
import type { CallBodySink, CallClient } from "./call-client.ts";

/** The client of a call on a stream of HTTP/2. */
export class StreamClient implements CallClient {
  protected readonly exchange: StreamExchange;
  readonly #trailers: HeaderPair[] = [];

  constructor(exchange: StreamExchange) {
    this.exchange = exchange;
  }

  get head(): ClientRequest {
    return this.exchange.head;
  }

  get seenMs(): number {
    return this.exchange.seenMs;
  }

  get left(): boolean {
    return this.exchange.left;
  }

  get fields(): readonly HeaderPair[] {
    return this.head.headers;
  }

  get bodyLength(): number {
    return this.exchange.body.length;
  }

  proxiedBy(listener: StreamListener): void {
    this.exchange.proxiedBy(listener);
  }

  /** The trailers of a request mean nothing in gRPC. */
  pourInto(sink: CallBodySink): void {
    this.exchange.body.pourInto(sink);
  }

  bytesArrived(): void {
    this.exchange.bytesArrived();
  }

  readOn(): void {
    this.exchange.body.readOn();
  }

  discard(): void {
    this.exchange.body.discard();
  }

  get takesMore(): boolean {
    return this.exchange.out.takesMore;
  }

  get queuedBytes(): number {
    return this.exchange.out.queuedBytes;
  }

  respond(status: number, fields: readonly HeaderPair[], isWhole: boolean): void {
    const exchange = this.exchange;
    exchange.begin(status);
    if (isWhole) exchange.endedBy(fields);
    else exchange.endWith(this.#trailers);
    exchange.respond(fields.flat(), isWhole, !isWhole);
    if (isWhole) exchange.finish();
  }

  write(bytes: Buffer): void {
    this.exchange.bytesOut += bytes.length;
    this.exchange.bytesArrived();
    this.exchange.out.write(bytes);
  }

  end(trailers: readonly HeaderPair[]): void {
    this.#trailers.push(...trailers);
    this.exchange.out.end();
    this.exchange.finish();
  }

  readonly refuse: (() => void) | undefined = () => this.exchange.stream.close(constants.NGHTTP2_REFUSED_STREAM);

  abort(): void {
    this.exchange.abort();
  }
}
