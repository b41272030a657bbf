import { ChunkEncoder } from "../../http1/parse/chunk-encoder.ts";
import type { FieldSection } from "../../http1/parse/field-section.ts";
import { type RequestOwner, RequestWriter } from "../../pod-connections/request-writer.ts";
import { textBytesMax } from "../../socket/outgoing.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { StreamBodySink } from "../front/request-body.ts";
import type { StreamExchange } from "../front/stream-exchange.ts";

/** Sends one request to a sandbox: its head, its body in the framing that the head announced, and its trailers. */
export class RequestSender extends RequestWriter implements StreamBodySink {
  readonly #encoder: ChunkEncoder | undefined;
  #isBegun = false;

  constructor(socket: WireSocket, { head, body }: StreamExchange, owner: RequestOwner, bodyBytesMax: number) {
    super(socket, body, owner, bodyBytesMax);
    this.#encoder = head.wire.facts.isChunked ? new ChunkEncoder() : undefined;
  }

  /** The head and the kept part of the body are sent together. From now on each part is sent at once. */
  begin(): void {
    this.#isBegun = true;
    this.flush();
  }

  bodyBytes(bytes: Buffer): void {
    if (this.isOver || !this.isWithinLimit() || bytes.length === 0) return;
    if (this.#encoder) this.text(this.#encoder.before(bytes.length));
    if (bytes.length < textBytesMax) this.text(bytes.toString("latin1"));
    else this.piece(bytes);
    if (this.#isBegun) this.flush();
  }

  /** Trailers exist only in chunks: with a length, they are dropped. */
  bodyEnded(trailers: FieldSection | undefined): void {
    if (this.isOver) return;
    if (this.#encoder) this.text(this.#encoder.end(trailers));
    if (this.#isBegun) this.flush();
    this.owner.requestWritten();
  }
}
