import type { Clock } from "../../lib/clock.ts";
import type { BufferLoans } from "./read-place.ts";
import { ReadPlace } from "./read-place.ts";
import { isBehind, type SocketReader, type WireSocket } from "./wire-socket.ts";

/** Hears how a relay fares. */
export interface RelayListener {
  /** So many bytes were passed on; they are at the beginning of `bytes` until the end of the call. */
  passed(length: number, bytes: Buffer): void;
  /** The socket that this side read from is closed. */
  closed(): void;
}

/**
 * One direction of a relay: what one socket reads is written to the other. An end is passed on alone, so that a
 * half-closed connection stays one; a reset is passed on as one, for an end would look like the whole.
 */
export class RelaySide implements SocketReader {
  readonly #source: WireSocket;
  readonly #target: WireSocket;
  readonly #place: ReadPlace;
  readonly #listener: RelayListener | undefined;
  #ended = false;

  constructor(source: WireSocket, target: WireSocket, loans: BufferLoans, listener?: RelayListener) {
    this.#source = source;
    this.#target = target;
    this.#place = new ReadPlace(loans);
    this.#listener = listener;
  }

  nextBuffer(): Buffer {
    return this.#place.next();
  }

  take(bytes: Buffer, length: number): boolean {
    const target = this.#target;
    if (!target.writable) {
      this.#source.destroy();
      return false;
    }
    this.#listener?.passed(length, bytes);
    target.write(this.#place.part(bytes, 0, length));
    this.#place.took(length);
    return !isBehind(target);
  }

  ended(): void {
    this.#ended = true;
    this.#target.end();
  }

  /** What the other direction wrote here has left: it may read on. */
  drained(): void {
    this.#target.resume();
  }

  closed(hadError: boolean): void {
    this.#place.release();
    if (hadError) this.#target.resetAndDestroy();
    else if (!this.#ended) this.#target.destroy(); // gone without an end: the other has nobody to talk to
    this.#listener?.closed();
  }
}

/** How long both sides may take to end theirs, after we have ended ours. */
const closeGraceMs = 1_000;

/** Ends a relay from the middle: what was written to either side leaves, and who has not ended by then is cut off. */
export function endRelay(one: WireSocket, other: WireSocket, clock: Clock): void {
  one.end();
  other.end();
  clock.after(closeGraceMs, () => {
    one.destroy();
    other.destroy();
  });
}

/** Joins two sockets; returns what reads the first and what reads the second. */
export function relay(one: WireSocket, other: WireSocket, loans: BufferLoans): void {
  one.reader = new RelaySide(one, other, loans);
  other.reader = new RelaySide(other, one, loans);
  one.resume();
  other.resume();
}
