import { runGuarded } from "../../../lib/guard/guard.ts";
import { ChunkEncoder } from "../../http1/parse/chunk-encoder.ts";
import type { FieldSection } from "../../http1/parse/field-section.ts";
import type { RequestOwner } from "../../http1/proxy/request-relay.ts";
import { Outgoing } from "../../socket/outgoing.ts";
import { isBehind, type WireSocket } from "../../socket/wire-socket.ts";
import type { StreamBody, StreamBodySink } from "../front/stream-body.ts";
import type { StreamExchange } from "../front/stream-exchange.ts";

/** Shorter pieces, in bytes, are sent as text together with the text next to them. */
const textBytesMax = 4_096;

/** Sends one request to a sandbox: its head, its body in the framing that the head announced, and its trailers. */
export class RequestSender implements StreamBodySink {
  readonly #socket: WireSocket;
  readonly #body: StreamBody;
  readonly #owner: RequestOwner;
  readonly #out: Outgoing;
  readonly #encoder: ChunkEncoder | undefined;
  #isBegun = false;

  constructor(socket: WireSocket, { head, body }: Pick<StreamExchange, "head" | "body">, owner: RequestOwner) {
    this.#socket = socket;
    this.#body = body;
    this.#owner = owner;
    this.#out = new Outgoing(socket);
    this.#encoder = head.wire.facts.isChunked ? new ChunkEncoder() : undefined;
  }

  get wantsBody(): boolean {
    return this.#isOver || !isBehind(this.#socket);
  }

  /** Whether the sandbox was sent the whole request. */
  get isSent(): boolean {
    return this.#body.complete && this.#socket.writableLength === 0;
  }

  /** Whether the sandbox was sent all that came, and that is not the whole request. */
  get waitsForClient(): boolean {
    return !this.#body.complete && this.#socket.writableLength === 0;
  }

  /** Calls back once what is written was sent. Node says that only for a write. */
  onceSent(then: () => void): void {
    this.#socket.write("", "latin1", () => runGuarded("pod-connection", then));
  }

  /** The head waits for the first bytes of the body, or for `flush`. */
  begin(head: string): void {
    this.#out.text(head);
  }

  flush(): void {
    this.#isBegun = true;
    this.#out.flush();
  }

  bodyBytes(bytes: Buffer): void {
    if (this.#isOver || !this.#isWithinLimit() || bytes.length === 0) return;
    if (this.#encoder) this.#out.text(this.#encoder.before(bytes.length));
    if (bytes.length < textBytesMax) this.#out.text(bytes.toString("latin1"));
    else this.#out.piece(bytes);
    if (this.#isBegun) this.#out.flush();
  }

  /** Trailers exist only in chunks: with a length, they are dropped. */
  bodyEnded(trailers: FieldSection | undefined): void {
    if (this.#isOver) return;
    if (this.#encoder) this.#out.text(this.#encoder.end(trailers));
    if (this.#isBegun) this.#out.flush();
    this.#owner.requestWritten();
  }

  get #isOver(): boolean {
    return this.#owner.isDone || !this.#socket.writable;
  }

  #isWithinLimit(): boolean {
    const { maxRequestBodyBytes } = this.#owner;
    if (maxRequestBodyBytes <= 0 || this.#body.length <= maxRequestBodyBytes) return true;
    this.#owner.requestTooLarge();
    return false;
  }
}
