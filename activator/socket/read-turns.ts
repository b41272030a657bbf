import type { ReadSource } from "./read-place.ts";

/** The maximum reads of one socket in one turn of the event loop. Each may bring a request that is answered at once. */
export const readsInOneTurn = 16;
/** The maximum bytes of these reads; those of quick reads do not count. */
export const bytesInOneTurn = 131_072;
/** A read of as many bytes may be quick: most of a buffer of its own. */
const largeReadBytes = 65_536;
/** A large read is quick if its bytes were used in less time. To pass 128 KiB on takes a third of it. */
export const quickReadMs = 0.25;

/**
 * Limits how much of one socket is read in one turn of the event loop. libuv reads a socket up to 32 times before it looks at
 * the next one, as long as each read fills its buffer, and a TLS socket passes on each record of what it has read.
 *
 * Such reads follow each other without one of another socket, so these are counted, over turns too: that costs a lone busy
 * socket one more turn for each 16 reads, and needs no event for each turn.
 *
 * A body that is only passed on is read on while its reads are quick. If all sockets took turns after each large read, their
 * buffers would leave the processor's cache in between.
 */
export class ReadTurns {
  #last: ReadSource | undefined;
  #reads = 0;
  #bytes = 0;
  readonly #nowMs: () => number;
  readonly #resting = new Set<ReadSource>();

  /** `nowMs`: monotonic milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** A read begins: the time, if the read is large enough to be quick. Monotonic milliseconds. */
  beganAt(length: number): number {
    return length < largeReadBytes ? Number.NEGATIVE_INFINITY : this.#nowMs();
  }

  /**
   * Counts a read that `began`, and whose bytes were used. True: it was the last of this turn, and the socket reads on in the
   * next one by itself.
   */
  endsWith(socket: ReadSource, length: number, began: number): boolean {
    if (socket !== this.#last) {
      this.#last = socket;
      this.#reads = 0;
      this.#bytes = 0;
    }
    this.#reads += 1;
    if (!this.#isQuick(length, began)) this.#bytes += length;
    if (this.#reads < readsInOneTurn && this.#bytes < bytesInOneTurn) return false;
    this.#last = undefined;
    if (this.#resting.size === 0) setImmediate(() => this.#resume());
    this.#resting.add(socket);
    return true;
  }

  /** Whether the socket waits for the next turn. */
  isOverFor(socket: ReadSource): boolean {
    return this.#resting.size > 0 && this.#resting.has(socket);
  }

  /** The socket is closed. */
  forget(socket: ReadSource): void {
    if (this.#last === socket) this.#last = undefined;
    this.#resting.delete(socket);
  }

  #isQuick(length: number, began: number): boolean {
    return length >= largeReadBytes && this.#nowMs() - began < quickReadMs;
  }

  #resume(): void {
    const rested = [...this.#resting];
    this.#resting.clear();
    for (const socket of rested) socket.readOn();
  }
}
