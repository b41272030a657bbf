import type { KeptBody } from "../../request.ts";
import type { Kept, ReadPlace } from "../../socket/read-place.ts";
import { type BodyParts, relayBody } from "../frame-body.ts";
import { BodyFramer } from "../parse/body-framer.ts";
import { trailerSection } from "../parse/chunk-encoder.ts";
import type { Refusal } from "../parse/refusals.ts";
import type { RequestHead } from "../parse/request-head.ts";
import type { SectionKeeper } from "../parse/section-reader.ts";
import { KeptBytes } from "./kept-bytes.ts";
import { leavesRoom, readAheadBytesMax } from "./read-ahead.ts";

/** Takes a request's body as it arrives. */
export interface BodySink {
  /** A part of the last read of `place`. */
  bodyBytes(place: ReadPlace, bytes: Buffer, from: number, to: number): void;
  /** Bytes that were kept before there was a sink. */
  keptBytes(kept: Kept): void;
  /** The body is complete once `last` has been sent, too. */
  bodyEnded(last: string): void;
  /** All of the body that one read brought was passed. */
  readEnded?(): void;
  /** Whether it can take more now. */
  readonly wantsBody: boolean;
}

/** The body of one request: framed and validated as it arrives, and kept in part until there is a sink. */
export class RequestBody implements BodyParts, KeptBody {
  readonly #framer: BodyFramer | undefined;
  #kept: KeptBytes | undefined;
  #ownBytes = 0;
  #behindBytes = 0;
  #onGrowth: ((bytes: number) => void) | undefined;
  #last = "";
  #sink: BodySink | undefined;
  #place: ReadPlace | undefined;
  refusal: Refusal | undefined;
  readonly #isRaw: boolean;

  /** `keeper` counts the memory of unfinished trailers. `isRaw`: the sink gets the body in its original framing, or else its data. */
  constructor({ framing, contentLength }: RequestHead, keeper: SectionKeeper, isRaw = true) {
    this.#isRaw = isRaw;
    if (framing === "none" || framing === "tunnel") return;
    this.#framer = new BodyFramer(keeper);
    this.#framer.begin(framing, contentLength);
  }

  /** Whether it was read completely. */
  get complete(): boolean {
    return this.#framer?.isComplete ?? true;
  }

  /** Body bytes so far, without framing. */
  get length(): number {
    return this.#framer?.bodyBytes ?? 0;
  }

  /** Bytes with framing that are kept for a sink. */
  get ownBytes(): number {
    return this.#ownBytes;
  }

  /** Those, and what is kept of the requests behind it. */
  get keptBytes(): number {
    return this.#ownBytes + this.#behindBytes;
  }

  /** So many bytes behind it are kept, until it has ended. */
  followedBy(bytes: number): void {
    const more = bytes - this.#behindBytes;
    this.#behindBytes = bytes;
    if (more > 0) this.#onGrowth?.(more);
  }

  onGrowth(listener: ((bytes: number) => void) | undefined): void {
    this.#onGrowth = listener;
  }

  /** Whether it goes to a sink. Only then large reads pay off. */
  get isFlowing(): boolean {
    return this.#sink !== undefined && !this.complete;
  }

  /** Whether more of the body, or bytes behind it, may be read now. */
  get takesMore(): boolean {
    if (this.#sink) return this.#sink.wantsBody;
    return this.complete || leavesRoom(this.#ownBytes);
  }

  /** Reads on. Returns the position where it stopped: the end of the body, or of the bytes. */
  take(place: ReadPlace, bytes: Buffer, start: number, end: number): number {
    const framer = this.#framer;
    if (!framer || framer.isComplete) return start;
    this.#place = place;
    const progress = relayBody(framer, bytes, start, end, this.#isRaw, this);
    this.#sink?.readEnded?.();
    if (progress === "refused") this.refusal = framer.refusal ?? "ChunkSizeInvalid";
    if (progress === "complete") {
      const last = framer.trailers ? trailerSection(framer.trailers) : "";
      framer.dropTrailers();
      if (this.#sink) this.#sink.bodyEnded(last);
      else this.#last = last;
    }
    return framer.at;
  }

  part(bytes: Buffer, from: number, to: number): void {
    if (this.#sink && this.#place) return this.#sink.bodyBytes(this.#place, bytes, from, to);
    if (!this.#place) return;
    this.#kept ??= new KeptBytes(readAheadBytesMax);
    this.#kept.add(this.#place, bytes, from, to);
    this.#ownBytes += to - from;
    this.#onGrowth?.(to - from);
  }

  /** The exchange has ended: kept bytes and the rest of the body are dropped. */
  discard(): void {
    this.#sink = noSink;
    this.#ownBytes = 0;
    this.#last = "";
    for (const kept of this.#takeKept()) this.#place?.unkeep(kept);
  }

  /** Nothing more is read of it. */
  stopReading(): void {
    this.#framer?.dropTrailers();
  }

  /** Sends the kept bytes to the sink, and all later ones. */
  pourInto(sink: BodySink): void {
    this.#sink = sink;
    for (const kept of this.#takeKept()) {
      sink.keptBytes(kept);
      this.#place?.unkeep(kept);
    }
    this.#ownBytes = 0;
    if (this.complete) sink.bodyEnded(this.#last);
    this.#last = "";
  }

  #takeKept(): readonly Kept[] {
    const kept = this.#kept?.takeAll() ?? nothing;
    this.#kept = undefined;
    return kept;
  }
}

const nothing: readonly Kept[] = [];

const noSink: BodySink = {
  wantsBody: true,
  bodyBytes() {},
  keptBytes() {
    throw new Error("an ended request keeps no body");
  },
  bodyEnded() {},
};
