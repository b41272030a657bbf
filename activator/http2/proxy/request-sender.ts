import { ChunkEncoder } from "../../http1/parse/chunk-encoder.ts";
import type { FieldSection } from "../../http1/parse/field-section.ts";
import { Outgoing } from "../../socket/outgoing.ts";
import { isBehind, type WireSocket } from "../../socket/wire-socket.ts";

/** Shorter pieces, in bytes, are sent as text together with the text next to them. */
const textBytesMax = 4_096;

/** Sends one request to a sandbox: its head, its body in the framing that the head announced, and its trailers. */
export class RequestSender {
  readonly #socket: WireSocket;
  readonly #out: Outgoing;
  readonly #encoder: ChunkEncoder | undefined;
  #isBegun = false;
  #hasEnded = false;

  constructor(socket: WireSocket, isChunked: boolean) {
    this.#socket = socket;
    this.#out = new Outgoing(socket);
    this.#encoder = isChunked ? new ChunkEncoder() : undefined;
  }

  /** Whether the sandbox should be sent no more for now. */
  get isBehind(): boolean {
    return isBehind(this.#socket);
  }

  /** Whether the whole body was sent. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The head waits for the first bytes of the body, or for `flush`. */
  begin(head: string): void {
    this.#out.text(head);
  }

  flush(): void {
    this.#isBegun = true;
    this.#out.flush();
  }

  data(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#encoder) this.#out.text(this.#encoder.before(bytes.length));
    if (bytes.length < textBytesMax) this.#out.text(bytes.toString("latin1"));
    else this.#out.piece(bytes);
    if (this.#isBegun) this.#out.flush();
  }

  /** Trailers exist only in chunks: with a length, they are dropped. */
  end(trailers: FieldSection | undefined): void {
    this.#hasEnded = true;
    if (!this.#encoder) return;
    this.#out.text(this.#encoder.end(trailers));
    if (this.#isBegun) this.#out.flush();
  }
}
