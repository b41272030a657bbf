import { runGuarded } from "../../lib/guard/guard.ts";
import { Outgoing } from "../socket/outgoing.ts";
import { isBehind } from "../socket/queue.ts";
import type { WireSocket } from "../socket/wire-socket.ts";

/** The exchange of a request. */
export interface RequestOwner {
  /** Whether it is over. */
  readonly isDone: boolean;
  requestTooLarge(): void;
  /** The last byte of the request is written. */
  requestWritten(): void;
}

/** The body that a client sends, in any protocol. */
export interface SentBody {
  /** Whether it was read completely. */
  readonly complete: boolean;
  /** Bytes so far. */
  readonly length: number;
}

/** Writes one request to the sandbox over HTTP/1.1, whatever protocol its body arrives by. */
export class RequestWriter extends Outgoing {
  protected readonly owner: RequestOwner;
  readonly #socket: WireSocket;
  readonly #body: SentBody;
  readonly #bodyBytesMax: number;
  #isSentFirst = false;

  /** `bodyBytesMax`: 0: unlimited. */
  constructor(socket: WireSocket, body: SentBody, owner: RequestOwner, bodyBytesMax: number) {
    super(socket);
    this.owner = owner;
    this.#socket = socket;
    this.#body = body;
    this.#bodyBytesMax = bodyBytesMax;
  }

  get wantsBody(): boolean {
    return this.isOver || !isBehind(this.#socket);
  }

  /** Whether the sandbox was sent the whole request. */
  get isSent(): boolean {
    return this.#body.complete && this.#socket.writableLength === 0;
  }

  /** Closes the connection: by a reset if the sandbox was not sent the whole request, because its program may take an end for that of a part. */
  close(): void {
    if (this.isSent) this.#socket.destroy();
    else this.#socket.reset();
  }

  /** The sandbox begins its response. */
  answered(): void {
    this.#isSentFirst = this.isSent;
  }

  /**
   * Whether the sandbox began its response only after it was sent the whole request. Otherwise its program may go on reading the
   * request for any time, and another request on the connection would wait behind it.
   */
  get isSentFirst(): boolean {
    return this.#isSentFirst;
  }

  /** Whether the sandbox was sent all that came, and that is not the whole request. */
  get waitsForClient(): boolean {
    return !this.#body.complete && this.#socket.writableLength === 0;
  }

  /** Calls back once what is written was sent. Node says that only for a write. */
  onceSent(then: () => void): void {
    this.#socket.write("", "latin1", () => runGuarded("pod-connection", then));
  }

  protected get isOver(): boolean {
    return this.owner.isDone || !this.#socket.writable;
  }

  /** Whether the body is within the limit; if not, the owner is told. */
  protected isWithinLimit(): boolean {
    if (this.#bodyBytesMax <= 0 || this.#body.length <= this.#bodyBytesMax) return true;
    this.owner.requestTooLarge();
    return false;
  }
}
