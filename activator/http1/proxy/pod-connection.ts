import { runGuarded } from "../../../lib/guard/guard.ts";
import { type BufferLoans, ReadPlace } from "../../socket/read-place.ts";
import type { SocketReader, WireSocket } from "../../socket/wire-socket.ts";
import type { HeadBudget, UnfinishedHead } from "../front/head-budget.ts";
import { BodyFramer } from "../parse/body-framer.ts";
import type { Refusal } from "../parse/refusals.ts";
import type { ResponseHead } from "../parse/response-head.ts";
import { type AnsweredRequest, ResponseHeadParser } from "../parse/response-head-parser.ts";
import type { SectionKeeper } from "../parse/section-reader.ts";

/** Receives the response to one request on a connection to a Pod. A head is dropped when the call returns. */
export interface ResponseTaker {
  /** An interim head. */
  interim(head: ResponseHead): void;
  /** The final head; its body begins in `bytes` at `start`. */
  responded(head: ResponseHead, bytes: Buffer, start: number, end: number): void;
  body(bytes: Buffer, start: number, end: number): void;
  refused(refusal: Refusal): void;
  /** The sandbox ended its side. */
  podEnded(): void;
  /** The bytes written to the sandbox were sent. */
  podDrained(): void;
  /** No more can be sent to the sandbox. True: the response is still awaited. */
  podTakesNoMore(): boolean;
  podClosed(): void;
  /** Whether it can take more now. */
  readonly wantsResponse: boolean;
}

export interface PodConnectionOptions {
  readonly maxHeaderBytes: number;
  readonly loans: BufferLoans;
  readonly heads: HeadBudget;
}

/** A connection to a Pod and its response reader, for consecutive requests. */
export class PodConnection implements SocketReader, UnfinishedHead {
  readonly socket: WireSocket;
  /** The namespace of the sandbox. */
  readonly owner: string;
  readonly framer: BodyFramer;
  readonly place: ReadPlace;
  readonly #parser: ResponseHeadParser;
  readonly #maxHeaderBytes: number;
  #taker: ResponseTaker | undefined;
  #inBody = false;
  /** Counts what is kept of an unfinished head, or of unfinished trailers. */
  readonly #share: SectionKeeper;
  #interims = 0;
  #interimBytes = 0;

  constructor(socket: WireSocket, owner: string, { maxHeaderBytes, loans, heads }: PodConnectionOptions) {
    this.socket = socket;
    this.owner = owner;
    this.#share = heads.shareOf(this);
    this.framer = new BodyFramer(this.#share);
    this.place = new ReadPlace(loans, socket, owner);
    this.#parser = new ResponseHeadParser({ sectionBytesMax: maxHeaderBytes, fieldsMax });
    this.#maxHeaderBytes = maxHeaderBytes;
    socket.reader = this;
  }

  /** The connection of a socket. A socket that served a request before has one. */
  static of(socket: WireSocket, owner: string, options: PodConnectionOptions): PodConnection {
    return socket.reader instanceof PodConnection ? socket.reader : new PodConnection(socket, owner, options);
  }

  /** The next response answers this request. */
  expect(request: AnsweredRequest, taker: ResponseTaker): void {
    this.#parser.expect(request);
    this.#inBody = false;
    this.#interims = 0;
    this.#interimBytes = 0;
    this.#taker = taker;
  }

  /** No response is expected: any input from now on closes the connection. */
  rest(): void {
    this.#drop();
    this.#taker = undefined;
    this.place.moveOn();
  }

  /** Resumes reading if the current taker wants more. The caller's exchange may be over. */
  readOn(): void {
    this.socket.readOn();
  }

  /** Hands the connection to another reader, with its read buffer. */
  handOver(): ReadPlace {
    this.#taker = undefined;
    return this.place;
  }

  get wantsMore(): boolean {
    return this.place.isFree && (this.#taker?.wantsResponse ?? true);
  }

  nextBuffer(): Buffer {
    return this.place.next();
  }

  take(bytes: Buffer, length: number): void {
    this.place.landed(bytes);
    let headBytes = 0;
    if (!this.#taker)
      this.socket.destroy(); // no request was sent
    else if (this.#inBody) this.#taker.body(bytes, 0, length);
    else headBytes = this.#readHead(this.#taker, bytes, length);
    this.place.took(length, 2 * headBytes < length); // heads need no large reads
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
    this.#drop();
    this.place.close();
    this.#taker?.podClosed();
    this.#taker = undefined;
  }

  /** Returns how many of the bytes belong to heads. */
  #readHead(taker: ResponseTaker, bytes: Buffer, end: number): number {
    const parser = this.#parser;
    for (let at = 0; ; ) {
      const step = parser.push(bytes, at, end, this.#share);
      if (step === "more") return end;
      const refusal = step === "refused" ? (parser.refusal ?? "StartLineInvalid") : this.#refusalOf(parser.head);
      if (refusal) {
        taker.refused(refusal);
        return end;
      }
      at = parser.consumedTo;
      const isFinal = !parser.head.isInterim;
      this.#inBody = isFinal;
      if (isFinal) taker.responded(parser.head, bytes, at, end);
      else taker.interim(parser.head);
      parser.head.drop();
      if (isFinal) return at;
    }
  }

  #drop(): void {
    this.#parser.clear();
    this.framer.dropTrailers();
  }

  /** The request fails, and the connection is closed. */
  shed(): void {
    runGuarded("pod-connection", () => this.#taker?.refused("HeadShed"));
  }

  /** Clients do not slow down interim responses, because these are dropped: a sandbox could keep this process busy with them. */
  #refusalOf({ isInterim, start, end }: ResponseHead): Refusal | undefined {
    if (!isInterim) return undefined;
    this.#interims += 1;
    this.#interimBytes += end - start;
    return this.#interims <= interimMax && this.#interimBytes <= this.#maxHeaderBytes ? undefined : "InterimsTooMany";
  }
}

/** Applications may set many cookies at once. */
const fieldsMax = 256;

/** The maximum interim responses to a request: one a second for the default of `--proxy-timeout`. */
const interimMax = 900;
