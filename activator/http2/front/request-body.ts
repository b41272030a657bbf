import type { ServerHttp2Stream } from "node:http2";
import { runGuarded } from "../../../lib/guard/guard.ts";
import { errorOfRefusal } from "../../http1/front/refusal-error.ts";
import type { FieldSection } from "../../http1/parse/field-section.ts";
import { uncounted } from "../../http1/parse/section-reader.ts";
import { TrailerReader } from "../../http1/parse/trailer-reader.ts";
import type { KeptBody } from "../../request.ts";
import { GatheredBytes } from "../../socket/gathered-bytes.ts";
import { StreamReader } from "../stream-reader.ts";
import { turn, turnBytesMax } from "../turn.ts";
import { cutStream } from "./cut-stream.ts";
import { eachField, lineOf, malformed, type RawFields, textLength } from "./field-lines.ts";
import { joinedBytesMax } from "./stream-writer.ts";

/** Takes the body of a stream as it arrives. */
export interface StreamBodySink {
  /** Nothing else changes these bytes. */
  bodyBytes(bytes: Buffer): void;
  bodyEnded(trailers: FieldSection | undefined): void;
  /** Whether it can take more now. */
  readonly wantsBody: boolean;
}

export interface StreamBodyOptions {
  /** The length that the client announced; -1 without one. */
  readonly contentLength: number;
  /** Called for an error in the body, or one of ours while it is read. */
  readonly onSpoilt: (error: unknown) => void;
  /** Called for each part of the body that is kept or passed on. */
  readonly onArrival?: () => void;
}

/**
 * The body of one stream, kept until there is a sink.
 *
 * Only `readOn` lets the client send more than the window. Until then all that arrives fits into the initial window and is gathered in
 * one buffer. Small frames of one turn are passed on together: each write to a sandbox costs a call of the kernel.
 */
export class StreamBody implements KeptBody {
  readonly #stream: ServerHttp2Stream;
  /** Unset until the request's head was read: what arrives before is judged then. */
  #options: StreamBodyOptions | undefined;
  readonly #reader: StreamReader;
  readonly #reported: (dataBytes: number, bytes?: number) => void;
  readonly #gathered = new GatheredBytes();
  readonly #endOfTurn = () => this.#guard(() => this.#flush());
  #sink: StreamBodySink | undefined;
  #trailers: FieldSection | undefined;
  #complete: boolean;
  #rawTrailers: RawFields | undefined;
  #trailerBytes = 0;
  #onGrowth: ((bytes: number) => void) | undefined;
  #hasEnd = false;
  #isEndTold = false;
  #length = 0;

  /** `reported`: called for each part of the body, at once, with the bytes of its data and of all that it has, decoded: trailers have no data. */
  constructor(stream: ServerHttp2Stream, isEnded: boolean, reported: (dataBytes: number, bytes?: number) => void) {
    this.#stream = stream;
    this.#reported = reported;
    this.#complete = isEnded;
    this.#reader = new StreamReader(stream, (bytes) => this.#push(bytes));
    if (!isEnded) this.#listen(stream);
    // Lets Node see the end. Node closes a stream of which nothing is read as soon as it has finished, perhaps before its end is sent.
    stream.resume();
  }

  #listen(stream: ServerHttp2Stream): void {
    stream.on("trailers", (_: unknown, _flags: number, fields: RawFields) => {
      const bytes = textLength(fields);
      this.#reported(0, bytes);
      if (this.#sink !== noSink) this.#keepTrailers(fields, bytes);
    });
    stream.on("end", () => {
      this.#hasEnd = true;
      this.#guard(() => this.#ended());
    });
    for (let early: unknown = stream.read(); early instanceof Buffer; early = stream.read()) this.#push(early);
  }

  /** The head of the request was read. */
  begin(options: StreamBodyOptions): void {
    this.#options = options;
    this.#guard(() => {
      this.#judgeLength();
      if (this.#hasEnd) this.#ended();
    });
  }

  /** Whether the client has ended its side of the stream, also if what it sent is malformed. */
  get hasEnded(): boolean {
    return this.#reader.hasEnded;
  }

  /** Whether it arrived completely. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Body bytes so far. */
  get length(): number {
    return this.#length;
  }

  get keptBytes(): number {
    return this.#gathered.capacity + this.#trailerBytes;
  }

  onGrowth(listener: ((bytes: number) => void) | undefined): void {
    this.#onGrowth = listener;
  }

  /** Sends the kept bytes to the sink, and all later ones. */
  pourInto(sink: StreamBodySink): void {
    this.#sink = sink;
    const kept = this.#gathered.take();
    if (kept) sink.bodyBytes(kept);
    this.#tellEnd();
    this.readOn();
  }

  /** Reads on if the sink takes more. */
  readOn(): void {
    const sink = this.#sink;
    if (!sink?.wantsBody) return;
    this.#flush();
    this.#tellEnd();
    if (!this.#complete && sink.wantsBody) this.#reader.readMore();
  }

  /** The exchange has ended: kept bytes and trailers, and the rest of the body are dropped, and no longer judged. */
  discard(): void {
    this.#sink = noSink;
    this.#gathered.take();
    this.#rawTrailers = undefined;
    this.#trailers = undefined;
    this.#trailerBytes = 0;
  }

  #keepTrailers(fields: RawFields, bytes: number): void {
    this.#rawTrailers = fields;
    this.#trailerBytes = bytes;
    this.#options?.onArrival?.();
    this.#onGrowth?.(bytes);
  }

  /** Until there is a sink, or in front of bytes that it does not take yet. */
  #gather(bytes: Buffer): void {
    const before = this.#gathered.capacity;
    this.#gathered.add(bytes);
    const more = this.#gathered.capacity - before;
    if (more > 0) this.#onGrowth?.(more);
  }

  /** Returns whether the client may send more at once. */
  #push(bytes: Buffer): boolean {
    this.#reported(bytes.length);
    this.#guard(() => this.#take(bytes));
    return this.#sink?.wantsBody ?? false;
  }

  #take(bytes: Buffer): void {
    if (this.#sink === noSink) return;
    this.#length += bytes.length;
    this.#judgeLength();
    this.#options?.onArrival?.();
    if (bytes.length >= joinedBytesMax) this.#flush();
    if (this.#sink?.wantsBody && this.#gathered.length === 0) {
      if (bytes.length >= joinedBytesMax) return this.#sink.bodyBytes(bytes);
      turn.atEnd(this.#endOfTurn);
    }
    this.#gather(bytes);
    if (this.#gathered.length >= turnBytesMax) this.#flush();
  }

  /** Passes on what was gathered, if the sink takes it. */
  #flush(): void {
    if (!this.#sink?.wantsBody) return;
    const kept = this.#gathered.take();
    if (kept) this.#sink.bodyBytes(kept);
  }

  #judgeLength(): void {
    const { contentLength = -1 } = this.#options ?? {};
    if (contentLength >= 0 && this.#length > contentLength) throw malformed("its body is too long");
  }

  #ended(): void {
    if (!this.#options || !this.#reader.isWhole || this.#complete) return;
    if (this.#sink === noSink) {
      this.#complete = true;
      return;
    }
    const { contentLength } = this.#options;
    if (contentLength >= 0 && this.#length !== contentLength) throw malformed("its body is too short");
    if (this.#rawTrailers) this.#takeTrailers(this.#rawTrailers);
    this.#rawTrailers = undefined;
    this.#complete = true;
    this.#tellEnd();
  }

  #tellEnd(): void {
    if (this.#complete) this.#flush();
    if (!this.#complete || !this.#sink || this.#gathered.length > 0 || this.#isEndTold) return;
    this.#isEndTold = true;
    this.#sink.bodyEnded(this.#trailers);
  }

  #takeTrailers(fields: RawFields): void {
    let text = "";
    eachField(fields, (name, value) => {
      text += lineOf(name, value);
    });
    const bytes = Buffer.from(`${text}\r\n`, "latin1");
    const reader = new TrailerReader();
    if (reader.push(bytes, 0, bytes.length, uncounted) !== "complete")
      throw errorOfRefusal(reader.refusal ?? "TrailerForbidden");
    this.#trailers = reader.section;
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      runGuarded(
        "http-front",
        () => this.#options?.onSpoilt(error),
        () => cutStream(this.#stream),
      );
    }
  }
}

const noSink: StreamBodySink = { wantsBody: true, bodyBytes() {}, bodyEnded() {} };
