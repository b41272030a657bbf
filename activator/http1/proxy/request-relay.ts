import { runGuarded } from "../../../lib/guard/guard.ts";
import { Outgoing } from "../../socket/outgoing.ts";
import type { Kept, ReadPlace } from "../../socket/read-place.ts";
import { isBehind, type WireSocket } from "../../socket/wire-socket.ts";
import type { BodySink, RequestBody } from "../front/request-body.ts";

/** The exchange of a request. */
export interface RequestOwner {
  /** Whether it is over. */
  readonly isDone: boolean;
  /** 0: unlimited. */
  readonly maxRequestBodyBytes: number;
  requestTooLarge(): void;
  /** The last byte of the request is written. */
  requestWritten(): void;
}

/** Forwards one request to the sandbox: its head, and its body as it arrives. */
export class RequestRelay extends Outgoing implements BodySink {
  readonly #socket: WireSocket;
  readonly #body: RequestBody;
  readonly #owner: RequestOwner;

  constructor(socket: WireSocket, body: RequestBody, owner: RequestOwner) {
    super(socket);
    this.#socket = socket;
    this.#body = body;
    this.#owner = owner;
  }

  get wantsBody(): boolean {
    return this.#isOver || !isBehind(this.#socket);
  }

  bodyBytes(place: ReadPlace, bytes: Buffer, from: number, to: number): void {
    if (this.#isOver || !this.#isWithinLimit()) return;
    this.bytes(place, bytes, from, to);
    this.flush();
  }

  keptBytes(kept: Kept): void {
    if (this.#isWithinLimit()) this.kept(kept);
  }

  bodyEnded(last: string): void {
    if (this.#isOver) return;
    if (last !== "") {
      this.text(last);
      this.flush();
    }
    this.#owner.requestWritten();
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
