import { byte } from "./byte-classes.ts";
import { ChunkLine } from "./chunk-line.ts";
import type { FieldSection } from "./field-section.ts";
import type { Framing } from "./message-facts.ts";
import type { Refusal } from "./refusals.ts";
import type { SectionKeeper } from "./section-reader.ts";
import { TrailerReader } from "./trailer-reader.ts";

/**
 * What the framer found next:
 * - "data": bytes `from` to `to` are body;
 * - "omit": bytes `from` to `to` are framing that a relay which passes the rest on as it is must leave out: chunk
 *   extensions, and the whole trailer section with the empty line that ends it;
 * - "more": all bytes are used up and the body goes on;
 * - "complete": the body ended at `at`, and what follows is the next message;
 * - "refused": see `refusal`.
 */
export type BodyStep = "data" | "omit" | "more" | "complete" | "refused";

const inData = 0;
const inLine = 1;
const chunkCr = 2;
const chunkLf = 3;
const inTrailers = 4;
const ended = 5;
const failed = 6;

/**
 * Finds the end of a body without touching it. Call `next` with the same bytes, from `at` on, until it says "more",
 * "complete" or "refused". One framer serves any number of bodies, one after the other, until one is refused.
 */
export class BodyFramer {
  from = 0;
  to = 0;
  at = 0;
  refusal: Refusal | undefined;
  /** Bytes of body seen so far. */
  bodyBytes = 0;

  #framing: Framing = "none";
  #stage = ended;
  #left = 0;
  readonly #line = new ChunkLine();
  readonly #trailers = new TrailerReader();
  readonly #keeper: SectionKeeper;

  /** `keeper` counts the memory of unfinished trailers. */
  constructor(keeper: SectionKeeper) {
    this.#keeper = keeper;
  }

  begin(framing: Framing, contentLength: number): void {
    this.#framing = framing;
    this.bodyBytes = 0;
    this.refusal = undefined;
    this.#left = framing === "length" ? contentLength : Number.POSITIVE_INFINITY;
    this.#stage = framing === "none" || this.#left === 0 ? ended : inData;
    if (framing !== "chunked") return;
    this.#line.beginBody();
    this.#stage = inLine;
  }

  get isComplete(): boolean {
    return this.#stage === ended;
  }

  /** The trailers of a chunked body that is complete, valid until the next bytes are read. */
  get trailers(): FieldSection | undefined {
    return this.#framing === "chunked" && this.#stage === ended ? this.#trailers.section : undefined;
  }

  /** The trailers were used, or nothing more is read of this body: nothing is kept of them. */
  dropTrailers(): void {
    if (this.#framing !== "chunked") return;
    this.#trailers.clear();
    this.#trailers.section.drop();
  }

  /** The other side will send no more: true when that ends the body, false when it cuts it. */
  finish(): boolean {
    const endsHere = this.#framing === "close" || this.#framing === "tunnel";
    if (endsHere) this.#stage = ended;
    return this.#stage === ended;
  }

  next(bytes: Buffer, start: number, end: number): BodyStep {
    this.at = start;
    for (;;) {
      if (this.#stage === ended) return "complete";
      if (this.#stage === failed) return "refused";
      if (this.at >= end) return "more";
      if (this.#stage === inData) return this.#takeData(end);
      const step = this.#stage === inTrailers ? this.#takeTrailers(bytes, end) : this.#takeFraming(bytes, end);
      if (step !== undefined) return step;
    }
  }

  #takeData(end: number): BodyStep {
    const length = Math.min(this.#left, end - this.at);
    this.#found(this.at, this.at + length);
    this.bodyBytes += length;
    this.#left -= length;
    if (this.#left === 0) this.#stage = this.#framing === "chunked" ? chunkCr : ended;
    return "data";
  }

  #found(from: number, to: number): void {
    this.from = from;
    this.to = to;
    this.at = to;
  }

  #refuse(refusal: Refusal): BodyStep {
    this.refusal = refusal;
    this.#stage = failed;
    return "refused";
  }

  /** The end of one chunk and the line of the next. */
  #takeFraming(bytes: Buffer, end: number): BodyStep | undefined {
    const code = bytes[this.at] as number;
    if (this.#stage === inLine) return this.#takeLine(bytes, end);
    if (this.#stage === chunkCr && code === byte.cr) this.#stage = chunkLf;
    else if (this.#stage === chunkLf && code === byte.lf) {
      this.#line.beginLine();
      this.#stage = inLine;
    } else return this.#refuse(this.#stage === chunkLf ? "BareCr" : code === byte.lf ? "BareLf" : "ChunkEndMissing");
    this.at++;
    return undefined;
  }

  #takeLine(bytes: Buffer, end: number): BodyStep | undefined {
    const line = this.#line;
    let extensionStart = line.inExtension ? this.at : -1;
    for (let at = this.at; at < end; at++) {
      const isOver = line.take(bytes[at] as number);
      if (line.refusal !== undefined) {
        this.at = at;
        return this.#refuse(line.refusal);
      }
      if (line.inExtension && extensionStart < 0) extensionStart = at;
      if (!line.inExtension && extensionStart >= 0) {
        this.#found(extensionStart, at);
        // This byte, the CR after the extension, is taken already and is not a part of what is left out.
        this.at = at + 1;
        return "omit";
      }
      if (isOver) return this.#endLine(at + 1, line.size);
    }
    this.at = end;
    if (extensionStart < 0) return undefined;
    this.#found(extensionStart, end);
    return "omit";
  }

  #endLine(at: number, size: number): undefined {
    this.at = at;
    this.#left = size;
    this.#stage = size === 0 ? inTrailers : inData;
  }

  #takeTrailers(bytes: Buffer, end: number): BodyStep {
    const trailers = this.#trailers;
    const step = trailers.push(bytes, this.at, end, this.#keeper);
    if (trailers.refusal !== undefined) return this.#refuse(trailers.refusal);
    this.#found(this.at, step === "complete" ? trailers.consumedTo : end);
    if (step === "complete") this.#stage = ended;
    return "omit";
  }
}
