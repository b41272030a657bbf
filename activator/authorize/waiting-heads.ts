import { KeyCounts } from "../../lib/queues/key-counts.ts";

/** Several thousand usual heads, or five hundred of the largest size. */
const bytesMax = 32 * 1024 * 1024;

/**
 * The heads of requests that wait for a review, which any number of clients share: they are kept whole meanwhile. A client gets room
 * only while its heads take less than what is left, so one client has half of it at most.
 */
export class WaitingHeads {
  readonly #bytesOf = new KeyCounts();
  #bytes = 0;

  /** Undefined: there is no room. `peer`: the client's address. */
  hold(peer: string, bytes: number): Disposable | undefined {
    if (this.#bytesOf.of(peer) + bytes > bytesMax - this.#bytes) return undefined;
    this.#bytes += bytes;
    this.#bytesOf.add(peer, bytes);
    return {
      [Symbol.dispose]: () => {
        this.#bytes -= bytes;
        this.#bytesOf.remove(peer, bytes);
      },
    };
  }
}
