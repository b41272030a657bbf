import { type BufferLoans, ReadPlace } from "../../socket/read-place.ts";
import type { SocketReader, WireSocket } from "../../socket/wire-socket.ts";
import { BodyFramer } from "../body-framer.ts";
import type { Refusal } from "../refusals.ts";
import type { ResponseHead } from "../response-head.ts";
import { type AnsweredRequest, ResponseHeadParser } from "../response-head-parser.ts";

/** Takes what comes of one request on a connection to a Pod. */
export interface ResponseTaker {
  /** A head that another follows. */
  interim(head: ResponseHead): void;
  /** The final head; its body begins in `bytes` at `start`. */
  responded(head: ResponseHead, bytes: Buffer, start: number, end: number): void;
  body(bytes: Buffer, start: number, end: number): void;
  refused(refusal: Refusal): void;
  /** The sandbox will send no more. */
  podEnded(): void;
  /** What was written to the sandbox has left. */
  podDrained(): void;
  /** Nothing more can be sent to the sandbox; true: its answer is waited for nevertheless. */
  podTakesNoMore(): boolean;
  podClosed(): void;
  /** Whether it can take more now. */
  readonly wantsResponse: boolean;
}

/** One connection to a Pod and what reads responses on it, for one request after the other. */
export class PodConnection implements SocketReader {
  readonly socket: WireSocket;
  readonly framer = new BodyFramer();
  readonly place: ReadPlace;
  readonly #parser: ResponseHeadParser;
  #taker: ResponseTaker | undefined;
  #inBody = false;

  constructor(socket: WireSocket, maxHeaderBytes: number, loans: BufferLoans) {
    this.socket = socket;
    this.place = new ReadPlace(loans);
    this.#parser = new ResponseHeadParser({ sectionBytesMax: maxHeaderBytes, fieldsMax });
    socket.reader = this;
  }

  /** The one that reads a socket; a socket that served before has one. */
  static of(socket: WireSocket, maxHeaderBytes: number, loans: BufferLoans): PodConnection {
    return socket.reader instanceof PodConnection ? socket.reader : new PodConnection(socket, maxHeaderBytes, loans);
  }

  /** What comes from now on answers this request. */
  expect(request: AnsweredRequest, taker: ResponseTaker): void {
    this.#parser.expect(request);
    this.#inBody = false;
    this.#taker = taker;
  }

  /** Nothing is expected any more: what comes from now on closes the connection. */
  rest(): void {
    this.#taker = undefined;
  }

  nextBuffer(): Buffer {
    return this.place.next();
  }

  take(bytes: Buffer, length: number): boolean {
    if (!this.#taker)
      this.socket.destroy(); // nobody asked
    else if (this.#inBody) this.#taker.body(bytes, 0, length);
    else this.#readHead(this.#taker, bytes, length);
    this.place.took(length);
    return this.#taker?.wantsResponse ?? true;
  }

  ended(): void {
    if (this.#taker) this.#taker.podEnded();
    else this.socket.destroy();
  }

  drained(): void {
    this.#taker?.podDrained();
  }

  writeFailed(): boolean {
    return this.#taker?.podTakesNoMore() ?? false;
  }

  closed(): void {
    this.place.release();
    this.#taker?.podClosed();
    this.#taker = undefined;
  }

  #readHead(taker: ResponseTaker, bytes: Buffer, end: number): void {
    const parser = this.#parser;
    for (let at = 0; ; ) {
      const step = parser.push(bytes, at, end);
      if (step === "more") return;
      if (step === "refused") return taker.refused(parser.refusal ?? "StartLineInvalid");
      at = parser.consumedTo;
      if (!parser.head.isInterim) {
        this.#inBody = true;
        return taker.responded(parser.head, bytes, at, end);
      }
      taker.interim(parser.head);
    }
  }
}

/** Applications set many cookies at once. */
const fieldsMax = 256;
