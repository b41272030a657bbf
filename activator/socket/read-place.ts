import { commonBuffer, writeAheadBytes } from "./wire-socket.ts";

/** Enough for a body of 64 KiB, as many are, together with its head. */
const ownBytes = 131_072;
/** So many small reads in a row, and the crowd has passed. */
const smallReadsMax = 16;

/** How many sockets may have a read buffer of their own at once; others copy what they read. */
export class BufferLoans {
  readonly #max: number;
  #lent = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get lent(): number {
    return this.#lent;
  }

  borrow(): Buffer | undefined {
    if (this.#lent >= this.#max) return undefined;
    this.#lent += 1;
    return Buffer.allocUnsafeSlow(ownBytes);
  }

  /** The buffer itself is not used again: a write may still hold it. */
  giveBack(): void {
    this.#lent -= 1;
  }
}

/**
 * Where the bytes of one socket go: to the buffer that all share while they are few, to one of its own while they are
 * many. Few bytes are copied out, many are written on from where they lie.
 */
export class ReadPlace {
  readonly #loans: BufferLoans;
  #own: Buffer | undefined;
  #smallReads = 0;

  constructor(loans: BufferLoans) {
    this.#loans = loans;
  }

  next(): Buffer {
    return this.#own ?? commonBuffer;
  }

  /** Says how much was read, which decides where the next bytes go. */
  took(length: number): void {
    if (length >= writeAheadBytes) {
      this.#smallReads = 0;
      this.#own ??= this.#loans.borrow();
    } else if (this.#own && ++this.#smallReads >= smallReadsMax) this.release();
  }

  /**
   * A part of what was read last, to be written on. Where it is not a copy, it is so large that a socket which cannot
   * send it at once is behind: nothing more must be read until that has drained.
   */
  part(bytes: Buffer, from: number, to: number): Buffer {
    const part = bytes.subarray(from, to);
    return this.staysInPlace(bytes, from, to) ? part : Buffer.from(part);
  }

  /** Whether a part of what was read last is no copy but lies where the next bytes of this socket go. */
  staysInPlace(bytes: Buffer, from: number, to: number): boolean {
    return bytes === this.#own && to - from >= writeAheadBytes;
  }

  /** Gives up the buffer of its own. */
  release(): void {
    if (!this.#own) return;
    this.#own = undefined;
    this.#loans.giveBack();
  }
}
