import { constants, type Http2Stream, type ServerHttp2Stream } from "node:http2";
import { guarded, runGuarded } from "../../lib/guard/guard.ts";
import { type StallWatch, watchOf } from "../pod-connections/stall-watch.ts";
import type { Sweep, Watched } from "../sweep.ts";
import { cutStream } from "./front/cut-stream.ts";

export interface CloseLimit {
  readonly sweep: Sweep;
  readonly nowMs: number;
  /** How long the client may take nothing of what is left, in milliseconds; 0: unlimited. */
  readonly idleMs: number;
}

/**
 * Tells the client of a complete response to send no more of the request (RFC 9113, 8.1), by a reset without an error. It follows the end
 * of the response: Node says that a stream has finished while the end still waits for the client's window, and a reset would take its
 * place. The response was ended before. A client that takes nothing of it within the limit is reset.
 */
export function closeOnceEnded(stream: ServerHttp2Stream, limit: CloseLimit): void {
  if (stream.destroyed) return;
  const closer = new Closer(stream, limit);
  if (stream.writableFinished) closer.begin();
  else
    stream.once(
      "finish",
      guarded("http-front", () => closer.begin()),
    );
}

/** Whether the other side was sent the end of what we write. */
export const isEnded = (stream: Http2Stream): boolean => stream.state.localClose === 1;

/** Node sends the end within so many turns of the event loop, trailers included, if nothing holds it up. */
const turnsMax = 4;

/** It watches the stream until that is closed. */
class Closer implements Watched {
  sweepIndex = -1;
  readonly #stream: ServerHttp2Stream;
  readonly #stall: StallWatch;
  #turns = turnsMax;

  constructor(stream: ServerHttp2Stream, { sweep, nowMs, idleMs }: CloseLimit) {
    this.#stream = stream;
    this.#stall = watchOf(idleMs, nowMs);
    sweep.add(this);
    stream.on(
      "close",
      guarded("http-front", () => sweep.remove(this)),
    );
  }

  begin(): void {
    if (this.#close()) return;
    this.#turns -= 1;
    if (this.#turns > 0) setImmediate(() => runGuarded("http-front", () => this.begin()));
  }

  check(nowMs: number): void {
    this.#close();
    if (this.#stall.isStalled(this.#stream.bufferSize, nowMs)) cutStream(this.#stream);
  }

  /** Returns whether nothing is left to do, but to wait for the close. */
  #close(): boolean {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return true;
    if (!stream.writableFinished || !isEnded(stream)) return false;
    runGuarded("http-front", () => stream.close(constants.NGHTTP2_NO_ERROR));
    return true;
  }
}
