import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { guarded } from "../../../lib/guard/guard.ts";
import { type HeadBudget, type UnfinishedHead, unknownOwner } from "../../http1/front/head-budget.ts";
import { fieldsMax } from "./session-options.ts";

/** Approximately what nghttp2 and Node keep of one small field, in bytes. Measured: 240. */
const fieldBytes = 256;
/** The fewest bytes that make nghttp2 keep a name and a value. */
const smallestFieldBytes = 4;
/** How much longer a field may be than the bytes that bring it: nghttp2 makes room for twice the length of a compressed text. */
const textFactor = 2;
/** A PING, its answer included: nine bytes before the frame's payload of eight. */
const pingBytes = 17;
/**
 * For how many checks a client may leave a PING unanswered before so few bytes count: 2 s, as long as a round trip to the other end of the world
 * and a lost packet take. More bytes count at the next check.
 */
const patientChecks = 20;
const patientBytes = 4_096;

/** Approximately the memory of a block of fields of which so many bytes have arrived. `listBytesMax`: nghttp2 keeps no more text. */
export function unfinishedMemory(bytes: number, listBytesMax: number): number {
  const fields = Math.min(fieldsMax, Math.floor(bytes / smallestFieldBytes));
  return Math.min(textFactor * bytes, listBytesMax) + fieldBytes * fields;
}

export interface UnfinishedFieldsParts {
  readonly session: ServerHttp2Session;
  /** Counts all that was read from the client. */
  readonly socket: { readonly bytesRead: number };
  readonly streams: Iterable<ServerHttp2Stream> & { readonly size: number };
  readonly budget: HeadBudget;
  readonly listBytesMax: number;
  /** Closes the connection, because memory is short. */
  readonly cut: () => void;
}

/**
 * Counts the memory of a head, or of trailers, that a client has begun and not ended. nghttp2 does not report it, but three facts
 * show it:
 *
 * - nghttp2 knows the last stream whose head has begun. If that stream was not reported, its head is unfinished, or was rejected.
 * - While a block of fields is unfinished, a client can send no other frame (RFC 9113, 4.3). So a frame that was reported shows that
 *   no block was unfinished before it.
 * - For the same reason the data of reported frames is no part of such a block, and a client cannot answer a PING. So a silent client is sent one if it may have begun trailers, or if its last
 *   head may have been rejected. Other clients get none.
 */
export class UnfinishedFields implements UnfinishedHead {
  readonly owner = unknownOwner;
  readonly #parts: UnfinishedFieldsParts;
  /** The last stream whose head has ended. */
  #lastEnded = 0;
  /** The bytes of data in frames that were reported. All others may belong to an unfinished block. */
  #dataBytes = 0;
  /** Of the others up to here, none does. */
  #settledTo = 0;
  /** What was read at the last check, and how much of it was not data. */
  #readBefore = 0;
  #otherBefore = 0;
  #hasReported = false;
  #isPinged = false;
  /** How many checks there were since the PING. */
  #pingedFor = 0;
  /**
   * Set while what has arrived is counted and the client has yet to answer a PING: the number of its streams then. The count stays as it is
   * until something arrives or a stream ends. Reading the state of a session costs as much as the rest of a check.
   */
  #countedWith: number | undefined;

  constructor(parts: UnfinishedFieldsParts) {
    this.#parts = parts;
  }

  /** The client has sent a frame that ends no head, or a part of one, with so many bytes of data. */
  reported(bytes: number): void {
    this.#dataBytes += bytes;
    this.#hasReported = true;
    this.#countedWith = undefined;
  }

  headEnded(streamId: number): void {
    this.#lastEnded = Math.max(this.#lastEnded, streamId);
    this.#hasReported = true;
    this.#countedWith = undefined;
  }

  /** Called from time to time. */
  check(): void {
    const { session, socket, streams } = this.#parts;
    const { bytesRead } = socket;
    const isSilent = bytesRead === this.#readBefore;
    const before = this.#otherBefore;
    this.#readBefore = bytesRead;
    this.#otherBefore = this.#otherBytes;
    this.#settledTo = Math.min(this.#settledTo, this.#otherBytes); // Node may have read data that it had not reported then
    if (this.#otherBytes <= this.#settledTo) return;
    if (session.destroyed) return this.release();
    if (this.#isPinged) this.#pingedFor += 1;
    if (isSilent && (this.#countedWith === streams.size || this.#isPatient)) return;
    const begun = session.state.lastProcStreamID ?? 0;
    const hasReported = this.#hasReported;
    this.#hasReported = false;
    if (begun > this.#lastEnded) {
      this.#count();
      this.#ping(begun);
    } else if (!hasUploads(streams)) this.#settle(this.#otherBytes);
    else if (hasReported) this.#settle(before);
    else {
      if (this.#isPinged && !this.#isPatient) this.#count();
      this.#ping(begun);
    }
  }

  /** Bytes that were read, and that are not the data of reported frames. */
  get #otherBytes(): number {
    return this.#parts.socket.bytesRead - this.#dataBytes;
  }

  /** Whether the client may still answer a PING before what it sent counts. */
  get #isPatient(): boolean {
    const isShort = this.#otherBytes - this.#settledTo <= patientBytes;
    return this.#isPinged && this.#countedWith === undefined && isShort && this.#pingedFor < patientChecks;
  }

  shed(): void {
    this.#parts.cut();
  }

  release(): void {
    this.#parts.budget.release(this);
  }

  #count(): void {
    const { budget, streams, listBytesMax } = this.#parts;
    if (this.#isPinged) this.#countedWith = streams.size;
    budget.keep(this, unfinishedMemory(this.#otherBytes - this.#settledTo, listBytesMax));
  }

  #settle(to: number): void {
    this.#settledTo = to;
    this.#countedWith = undefined;
    this.release();
  }

  #ping(begun: number): void {
    const { session } = this.#parts;
    if (this.#isPinged || session.destroyed) return;
    const before = this.#otherBytes;
    this.#pingedFor = 0;
    const answered = guarded("http-front", (error: Error | null) => {
      this.#isPinged = false;
      if (error) return;
      this.headEnded(begun);
      const now = this.#otherBytes;
      this.#settle(now - before === pingBytes ? now : before);
    });
    this.#isPinged = session.ping(answered);
  }
}

/** Whether a client may send trailers: it has not ended its side of a stream. */
function hasUploads(streams: Iterable<ServerHttp2Stream>): boolean {
  for (const stream of streams) if (!stream.endAfterHeaders && !stream.readableEnded) return true;
  return false;
}
