import { bodyTooLarge, tooManyRequests } from "../status-errors.ts";

/** Memory for the unfinished bodies of all requests: twenty of the largest. */
const sharedBytesMax = 64 * 1_024 * 1_024;

/**
 * The first bytes of a body do not count in the shared limit. Clients that send large bodies slowly cannot keep others from
 * small writes. With 5,000 connections they take 80 MiB more.
 */
const freeBytes = 16 * 1_024;

/** A body that is being read. Disposing it, whole or not, gives its share of the memory back. */
export interface UnfinishedBody extends Disposable {
  /** @throws StatusError 413 when the body is too large; 429 when all bodies are. */
  add(chunk: Buffer): void;
  join(): Buffer;
}

/** The bodies of all requests that a server has not read to the end, with a limit for each one and one for all. */
export class UnfinishedBodies {
  readonly maxBytes: number;
  readonly #sharedBytesMax: number;
  #sharedBytes = 0;

  /** `maxBytes`: the limit of one body. */
  constructor(maxBytes: number, sharedMax: number = sharedBytesMax) {
    this.maxBytes = maxBytes;
    this.#sharedBytesMax = sharedMax;
  }

  /** The memory that counts in the limit of all bodies. */
  get sharedBytes(): number {
    return this.#sharedBytes;
  }

  begin(): UnfinishedBody {
    const chunks: Buffer[] = [];
    let [bytes, shared] = [0, 0];
    return {
      add: (chunk) => {
        bytes += chunk.length;
        if (bytes > this.maxBytes) throw bodyTooLarge(this.maxBytes);
        const grown = Math.max(0, bytes - freeBytes) - shared;
        if (this.#sharedBytes + grown > this.#sharedBytesMax) throw tooManyRequests(allTooLarge);
        shared += grown;
        this.#sharedBytes += grown;
        chunks.push(chunk);
      },
      join: () => Buffer.concat(chunks),
      [Symbol.dispose]: () => {
        this.#sharedBytes -= shared;
        shared = 0;
      },
    };
  }
}

const allTooLarge = "the bodies of all requests that are being read take too much memory; try again";
