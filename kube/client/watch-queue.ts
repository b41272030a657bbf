import type { ClockReading } from "../../lib/time/clock-jumps.ts";
import type { WatchReading } from "./client.ts";

/** In bytes. A watch whose events come faster than they are handled is not read beyond it. */
const queueBytesMax = 8 * 1024 * 1024;

/** Counted for each part besides its bytes, so that many short parts are bounded too. */
const partBytes = 256;

/** A part of the response. */
export interface Part {
  readonly bytes: Uint8Array;
  /** As `WatchReading.arrived` said when it arrived. */
  readonly sentSince: ClockReading | undefined;
}

/**
 * The parts of a watch that have arrived and wait to be handled. They are read at once, also while events wait for their turn: so each has
 * the date of its arrival, and not that of its handling. Dispose of it to end the reading.
 */
export class WatchQueue implements Disposable {
  readonly #bytesMax: number;
  readonly #reading: WatchReading | undefined;
  readonly #parts: Part[] = [];
  #bytes = 0;
  #end: { readonly error?: unknown } | undefined;
  #isDisposed = false;
  /** Resolves the wait for a part, or for the end. */
  #onNews: (() => void) | undefined;
  /** Resolves the wait for room. */
  #onRoom: (() => void) | undefined;

  constructor(body: AsyncIterable<Uint8Array>, reading: WatchReading | undefined, bytesMax = queueBytesMax) {
    this.#reading = reading;
    this.#bytesMax = bytesMax;
    void this.#fill(body);
  }

  /** The parts in their order. A part makes room once the next one is asked for. After the last one, an error of the response is thrown. */
  async *parts(): AsyncGenerator<Part, void> {
    for (;;) {
      const part = this.#parts.shift();
      if (part) {
        yield part;
        this.#bytes -= part.bytes.length + partBytes;
        if (this.#bytes < this.#bytesMax) this.#onRoom?.();
      } else if (this.#end) {
        if ("error" in this.#end) throw this.#end.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#onNews = resolve;
        });
      }
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#onRoom?.();
  }

  /** Never rejects: an error waits for its turn as the parts do. */
  async #fill(body: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const bytes of body) {
        if (this.#isDisposed) return;
        this.#parts.push({ bytes, sentSince: this.#reading?.arrived() });
        this.#bytes += bytes.length + partBytes;
        this.#onNews?.();
        if (this.#bytes >= this.#bytesMax) await this.#room();
      }
      this.#end = {};
    } catch (error) {
      this.#end = { error };
    }
    this.#onNews?.();
  }

  async #room(): Promise<void> {
    this.#reading?.paused(true);
    await new Promise<void>((resolve) => {
      this.#onRoom = resolve;
    });
    this.#onRoom = undefined;
    this.#reading?.paused(false);
  }
}
