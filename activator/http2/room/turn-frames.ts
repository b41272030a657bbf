import { TurnoverSet } from "../../../lib/data/turnover.ts";
import { turn } from "../turn.ts";

/**
 * After so many frames of all connections in one turn of the event loop, no connection is read further in that turn, nor in some turns
 * after it. Connections that are read again in turn bring fewer, so only the first reads of many connections that were quiet come to this.
 */
const framesOfAll = 8_192;
/** The frames for which a head counts here count so many times: its stream becomes an object of Node. */
const headFactor = 4;
/**
 * In so many turns after that no connection of HTTP/2 is read. Streams that have arrived begin in them, and libuv accepts one connection of a
 * listener in each turn.
 */
const restingTurns = 8;
/** A new connection counts as so many frames before it is read: it may bring a stream for each few bytes of its first read. */
const framesOfNew = 256;
/** New connections begin in one turn until its frames are so many. The rest is for reads. */
const framesBeforeNew = 4_096;

/** A connection that reads. */
interface Reading {
  /** It is read again in the next turn. */
  pause(): void;
}

/** What all connections of HTTP/2 bring in one turn of the event loop. A head counts as several frames. */
export class TurnFrames {
  readonly #readings = new TurnoverSet<Reading>();
  readonly #begins: (() => void)[] = [];
  #turn = -1;
  #frames = 0;
  #hasNext = false;
  /** The last turn in which no connection is read. */
  #restsUntil = -1;

  opened(reading: Reading): void {
    this.#readings.add(reading);
  }

  closed(reading: Reading): void {
    this.#readings.delete(reading);
  }

  /** Whether connections may be read in this turn. */
  get mayRead(): boolean {
    return turn.number > this.#restsUntil;
  }

  addHead(frames: number): void {
    this.add(headFactor * frames);
  }

  add(frames: number): void {
    const before = this.#inTurn;
    this.#frames = before + frames;
    if (before >= framesOfAll || this.#frames < framesOfAll) return;
    this.#restsUntil = this.#turn + restingTurns;
    for (const reading of this.#readings) reading.pause();
  }

  /** Begins a new connection, in a later turn if this one has no room. Returns whether it has begun. `begin` must not throw. */
  begin(begin: () => void): boolean {
    const hasRoom = this.#begins.length === 0 && this.#hasRoom;
    if (hasRoom) this.#begin(begin);
    else {
      this.#begins.push(begin);
      this.#callNext();
    }
    return hasRoom;
  }

  get #hasRoom(): boolean {
    return this.mayRead && this.#inTurn < framesBeforeNew;
  }

  get #inTurn(): number {
    const { number } = turn;
    if (number !== this.#turn) this.#frames = 0;
    this.#turn = number;
    return this.#frames;
  }

  #begin(begin: () => void): void {
    this.add(framesOfNew);
    begin();
  }

  #callNext(): void {
    if (this.#hasNext) return;
    this.#hasNext = true;
    turn.atEnd(() => this.#next());
  }

  /** Begins one after the other: each brings what was read of it in the next tick. */
  #next(): void {
    const begin = this.#hasRoom ? this.#begins.shift() : undefined;
    if (begin) {
      this.#begin(begin);
      process.nextTick(() => this.#next());
      return;
    }
    this.#hasNext = false;
    if (this.#begins.length > 0) this.#callNext();
  }
}

/** One event loop serves all connections of the process. */
export const turnFrames: TurnFrames = new TurnFrames();
