import { constants, type ServerHttp2Stream } from "node:http2";
import { guarded, runGuarded } from "../../lib/guard/guard.ts";
import type { Sweep, Watched } from "../sweep.ts";

/**
 * Tells the client of a complete response to send no more of the request (RFC 9113, 8.1), by a reset without an error. It follows the end
 * of the response: Node says that a stream has finished while the end still waits for the client's window, and a reset would take its
 * place.
 */
export function closeOnceEnded(stream: ServerHttp2Stream, sweep: Sweep): void {
  const closer = new Closer(stream, sweep);
  if (stream.writableFinished) closer.begin();
  else
    stream.once(
      "finish",
      guarded("http-front", () => closer.begin()),
    );
}

/** Whether the client was sent the end of the response. */
export const isEnded = (stream: ServerHttp2Stream): boolean => stream.state.localClose === 1;

/** Node sends the end within so many turns of the event loop, trailers included, if nothing holds it up. */
const turnsMax = 4;

class Closer implements Watched {
  sweepIndex = -1;
  readonly #stream: ServerHttp2Stream;
  readonly #sweep: Sweep;
  #turns = turnsMax;

  constructor(stream: ServerHttp2Stream, sweep: Sweep) {
    this.#stream = stream;
    this.#sweep = sweep;
  }

  begin(): void {
    if (this.#close()) return;
    this.#turns -= 1;
    if (this.#turns > 0) return void setImmediate(() => runGuarded("http-front", () => this.begin()));
    this.#sweep.add(this);
    this.#stream.once(
      "close",
      guarded("http-front", () => this.#sweep.remove(this)),
    );
  }

  check(): void {
    if (this.#close()) this.#sweep.remove(this);
  }

  /** Returns whether nothing is left to do. */
  #close(): boolean {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return true;
    if (!isEnded(stream)) return false;
    runGuarded("http-front", () => stream.close(constants.NGHTTP2_NO_ERROR));
    return true;
  }
}
