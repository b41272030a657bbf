import type { HeaderPair } from "../../request.ts";
import type { CallBodySink } from "../grpc/call-client.ts";
import { StreamClient } from "../grpc/stream-client.ts";

/** A stream of HTTP/2 that carries a call of gRPC-Web. */
export class WebStream extends StreamClient {
  override pourInto(sink: CallBodySink): void {
    const { head, body, stream } = this.exchange;
    const isOpen = !stream.closed && !stream.destroyed;
    if (isOpen && head.expectsContinue && !body.complete) stream.additionalHeaders({ ":status": 100 });
    super.pourInto(sink);
  }

  override respond(status: number, fields: readonly HeaderPair[]): void {
    this.exchange.begin(status);
    this.exchange.respond(fields.flat(), false);
  }

  /** The trailers are the last of the body, which is written. */
  override end(trailers: readonly HeaderPair[]): void {
    this.exchange.endedBy(trailers);
    this.exchange.out.end();
    this.exchange.finish();
  }
}
