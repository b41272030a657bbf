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
 * - For the same reason a client cannot answer a PING. So a silent client is sent one if it may have begun trailers, or if its last
 *   head may have been rejected. Other clients get none.
 */
export class UnfinishedFields implements UnfinishedHead {
  readonly owner = unknownOwner;
  readonly #parts: UnfinishedFieldsParts;
  /** The last stream whose head has ended. */
  #lastEnded = 0;
  /** Of the bytes up to here, none belongs to an unfinished block. */
  #settledTo = 0;
  /** What was read at the last check. */
  #readBefore = 0;
  #hasReported = false;
  #isPinged = false;
  /**
   * Set while what has arrived is counted and the client has yet to answer a PING: the number of its streams then. The count stays as it is
   * until something arrives or a stream ends. Reading the state of a session costs as much as the rest of a check.
   */
  #countedWith: number | undefined;

  constructor(parts: UnfinishedFieldsParts) {
    this.#parts = parts;
  }

  /** The client has sent a frame that ends no head. */
  reported(): void {
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
    const before = this.#readBefore;
    this.#readBefore = bytesRead;
    if (bytesRead <= this.#settledTo) return;
    if (session.destroyed) return this.release();
    if (bytesRead === before && this.#countedWith === streams.size) return;
    const begun = session.state.lastProcStreamID ?? 0;
    const hasReported = this.#hasReported;
    this.#hasReported = false;
    if (begun > this.#lastEnded) {
      this.#count();
      this.#ping(begun);
    } else if (!hasUploads(streams)) this.#settle(bytesRead);
    else if (hasReported) this.#settle(before);
    else {
      if (this.#isPinged) this.#count(); // honest clients have answered by now
      this.#ping(begun);
    }
  }

  shed(): void {
    this.#parts.cut();
  }

  release(): void {
    this.#parts.budget.release(this);
  }

  #count(): void {
    const { budget, socket, streams, listBytesMax } = this.#parts;
    if (this.#isPinged) this.#countedWith = streams.size;
    budget.keep(this, unfinishedMemory(socket.bytesRead - this.#settledTo, listBytesMax));
  }

  #settle(to: number): void {
    this.#settledTo = to;
    this.#countedWith = undefined;
    this.release();
  }

  #ping(begun: number): void {
    const { session, socket } = this.#parts;
    if (this.#isPinged || session.destroyed) return;
    const before = socket.bytesRead;
    const answered = guarded("http-front", (error: Error | null) => {
      this.#isPinged = false;
      if (error) return;
      this.headEnded(begun);
      this.#settle(socket.bytesRead - before === pingBytes ? socket.bytesRead : before);
    });
    this.#isPinged = session.ping(answered);
  }
}

/** Whether a client may send trailers: it has not ended its side of a stream. */
function hasUploads(streams: Iterable<ServerHttp2Stream>): boolean {
  for (const stream of streams) if (!stream.endAfterHeaders && !stream.readableEnded) return true;
  return false;
}
