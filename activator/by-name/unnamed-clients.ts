import { KeyCounts } from "../../lib/queues/key-counts.ts";
import type { UnnamedClient } from "./unnamed-client.ts";

/** The maximum number of connections whose sandbox is not known yet; each keeps up to 20 KiB. */
export const unnamedMax = 2_000;

/**
 * The connections of a replica whose sandbox is not known yet. Beyond the maximum, the address with most of them loses its oldest:
 * a client names its sandbox within milliseconds unless it delays that.
 */
export class UnnamedClients {
  readonly #max: number;
  readonly #all = new Map<UnnamedClient, string>();
  readonly #ofPeer = new KeyCounts();

  constructor(max: number = unnamedMax) {
    this.#max = max;
  }

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): IterableIterator<UnnamedClient> {
    return this.#all.keys();
  }

  /**
   * Returns a connection that has to go. It is none of them any more: many may come before its close is reported, and each of these
   * makes another one go.
   */
  add(client: UnnamedClient): UnnamedClient | undefined {
    this.#all.set(client, client.peer);
    this.#ofPeer.add(client.peer);
    if (this.#all.size <= this.#max) return undefined;
    const last = this.#oldestOf(this.#ofPeer.most());
    if (last) this.remove(last);
    return last;
  }

  #oldestOf(asked: string | undefined): UnnamedClient | undefined {
    for (const [client, peer] of this.#all) if (peer === asked) return client;
    return undefined;
  }

  /** Returns whether it was one of them. */
  remove(client: UnnamedClient): boolean {
    const peer = this.#all.get(client);
    if (peer === undefined) return false;
    this.#all.delete(client);
    this.#ofPeer.remove(peer);
    return true;
  }
}
