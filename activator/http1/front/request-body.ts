import type { ReadPlace } from "../../socket/read-place.ts";
import { BodyFramer } from "../body-framer.ts";
import { trailerSection } from "../chunk-encoder.ts";
import type { Refusal } from "../refusals.ts";
import { type BodyParts, relayBody } from "../relay-body.ts";
import type { RequestHead } from "../request-head.ts";

/** What is read of a body ahead of whoever takes it: enough to notice a client that leaves. */
export const readAheadBytesMax = 16_384;

/** Takes the body of a request as it comes. */
export interface BodySink {
  /** A part of what `place` read last, in the framing in which it came. */
  bodyBytes(place: ReadPlace, bytes: Buffer, from: number, to: number): void;
  /** Bytes that were kept until there was a sink. */
  keptBytes(bytes: Buffer): void;
  /** The body is complete, when `last` has been sent too. */
  bodyEnded(last: string): void;
  /** Whether it can take more now. */
  readonly wantsBody: boolean;
}

/** The body of one request: framed and judged as it arrives, kept in part while nobody takes it. */
export class RequestBody implements BodyParts {
  readonly #framer: BodyFramer | undefined;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #last = "";
  #sink: BodySink | undefined;
  #place: ReadPlace | undefined;
  #lent = false;
  refusal: Refusal | undefined;

  constructor({ framing, contentLength }: RequestHead) {
    if (framing === "none" || framing === "tunnel") return;
    this.#framer = new BodyFramer();
    this.#framer.begin(framing, contentLength);
  }

  /** Whether it was read to its end. */
  get complete(): boolean {
    return this.#framer?.isComplete ?? true;
  }

  /** Bytes of it seen so far, without their framing. */
  get length(): number {
    return this.#framer?.bodyBytes ?? 0;
  }

  /** Whether something that is kept still lies where the next bytes would go: see `copy`. */
  get lent(): boolean {
    return this.#lent;
  }

  /** Whether more of it, or of what follows it, may be read now. A sink that is behind may still use what was read. */
  get takesMore(): boolean {
    if (this.#sink) return this.#sink.wantsBody;
    return !this.#lent && (this.complete || this.#keptBytes < readAheadBytesMax);
  }

  /** Reads on; returns where it stopped: at the end of the body, or of the bytes. */
  take(place: ReadPlace, bytes: Buffer, start: number, end: number): number {
    const framer = this.#framer;
    if (!framer || framer.isComplete) return start;
    this.#place = place;
    const progress = relayBody(framer, bytes, start, end, true, this);
    if (progress === "refused") this.refusal = framer.refusal ?? "ChunkSizeInvalid";
    if (progress === "complete") {
      this.#last = framer.trailers ? trailerSection(framer.trailers) : "";
      this.#sink?.bodyEnded(this.#last);
    }
    return framer.at;
  }

  part(bytes: Buffer, from: number, to: number): void {
    if (this.#sink && this.#place) return this.#sink.bodyBytes(this.#place, bytes, from, to);
    // Most requests are carried before anything else is read: what is large waits for that in its place.
    this.#lent ||= this.#place?.staysInPlace(bytes, from, to) ?? false;
    this.#kept.push(this.#place?.part(bytes, from, to) ?? Buffer.from(bytes.subarray(from, to)));
    this.#keptBytes += to - from;
  }

  /** Nobody has taken what was kept yet: it gets a place of its own, and its socket may read on. */
  copy(): void {
    for (const [at, bytes] of this.#kept.entries()) this.#kept[at] = Buffer.from(bytes);
    this.#lent = false;
  }

  /** From now on everything goes to the sink, what was kept first. */
  pourInto(sink: BodySink): void {
    this.#sink = sink;
    this.#lent = false;
    for (const bytes of this.#kept.splice(0)) sink.keptBytes(bytes);
    this.#keptBytes = 0;
    if (this.complete) sink.bodyEnded(this.#last);
  }
}
