import { turn } from "../turn.ts";

/** The maximum streams of one connection that begin in one turn of the event loop. One read may bring a thousand. */
const streamsInOneTurn = 16;
/** The maximum streams of all connections that begin in one turn. */
const streamsOfAll = 32;
/** No further stream begins in a turn once the heads of its streams have so many bytes together, decoded. */
const headBytesOfAll = 131_072;

/** The maximum memory of streams that wait for their turn, of all connections together, in bytes: 13,000 streams with small heads. */
const waitingBytesMax = 67_108_864;
/** Approximately what Node keeps of one such stream besides its head, in bytes. */
const streamBytes = 5_120;
/** A head of at most so many bytes may always wait if it is the only one of its connection. */
const smallHeadBytes = 2_048;

/** One connection whose streams wait. */
interface Waiting {
  /** Whether one more of its streams may begin in this turn. */
  readonly hasShare: boolean;
  /** Begins its first stream. Returns whether others wait. */
  beginFirst(): boolean;
}

/** What all connections may begin in one turn of the event loop. Connections whose streams wait take turns, stream by stream. */
class Rounds {
  /** The memory of the streams that wait, in bytes. */
  waitingBytes = 0;
  #waiting = new Set<Waiting>();
  #turn = -1;
  #streams = 0;
  #bytes = 0;
  #hasNext = false;

  /** Whether a stream that has just arrived may begin before those that wait. */
  get hasRoom(): boolean {
    return this.#waiting.size === 0 && this.#isWithin;
  }

  begun(bytes: number): void {
    this.#renew();
    this.#streams += 1;
    this.#bytes += bytes;
  }

  wait(connection: Waiting): void {
    this.#waiting.add(connection);
    this.#callNext();
  }

  get #isWithin(): boolean {
    this.#renew();
    return this.#streams < streamsOfAll && this.#bytes < headBytesOfAll;
  }

  #renew(): void {
    const { number } = turn;
    if (number === this.#turn) return;
    this.#turn = number;
    this.#streams = 0;
    this.#bytes = 0;
  }

  #callNext(): void {
    if (this.#hasNext) return;
    this.#hasNext = true;
    turn.atEnd(() => this.#next());
  }

  #next(): void {
    this.#hasNext = false;
    const later: Waiting[] = [];
    // A connection that waits again is visited again, behind the others.
    for (const connection of this.#waiting) {
      if (!this.#isWithin) break;
      this.#waiting.delete(connection);
      if (!connection.hasShare) later.push(connection);
      else if (connection.beginFirst()) this.#waiting.add(connection);
    }
    for (const connection of later) this.#waiting.add(connection);
    if (this.#waiting.size > 0) this.#callNext();
  }
}

const rounds = new Rounds();

interface ArrivedStream<S> {
  readonly stream: S;
  readonly bytes: number;
}

/** The reads of the connection. */
interface Reads {
  /** Nothing more is read until `release`. */
  hold(): void;
  release(): void;
}

/**
 * Gives one connection a share of each turn of the event loop, and of what all connections may begin in it. Streams beyond it begin in the
 * next turns, in order. While one waits, the connection brings no more.
 *
 * A stream that waits is already an object of Node with its head. So the memory of all that wait has a limit.
 */
export class StreamTurns<S> implements Waiting {
  readonly #begin: (stream: S) => void;
  readonly #reads: Reads;
  #waiting: ArrivedStream<S>[] = [];
  #waitingBytes = 0;
  #turn = -1;
  #begun = 0;

  /** `begin` must not throw. */
  constructor(begin: (stream: S) => void, reads: Reads) {
    this.#begin = begin;
    this.#reads = reads;
  }

  /**
   * Whether one more stream may be added, whose head has so many bytes. The streams of a connection get more memory only while they use
   * less than is left.
   */
  hasRoom(bytes: number): boolean {
    if (this.#waiting.length === 0 && bytes <= smallHeadBytes) return true;
    return this.#waitingBytes + streamBytes + bytes <= waitingBytesMax - rounds.waitingBytes;
  }

  /** `bytes`: of its head, decoded. */
  add(stream: S, bytes: number): void {
    if (this.#waiting.length === 0 && this.hasShare && rounds.hasRoom) return this.#start({ stream, bytes });
    if (this.#waiting.length === 0) this.#reads.hold();
    this.#waiting.push({ stream, bytes });
    this.#count(streamBytes + bytes);
    rounds.wait(this);
  }

  get hasShare(): boolean {
    return turn.number !== this.#turn || this.#begun < streamsInOneTurn;
  }

  beginFirst(): boolean {
    const first = this.#waiting.shift();
    const isLast = this.#waiting.length === 0;
    if (first) {
      this.#count(-streamBytes - first.bytes);
      this.#start(first);
    }
    if (isLast) this.#reads.release();
    return !isLast;
  }

  #count(bytes: number): void {
    this.#waitingBytes += bytes;
    rounds.waitingBytes += bytes;
  }

  #start({ stream, bytes }: ArrivedStream<S>): void {
    const { number } = turn;
    this.#begun = number === this.#turn ? this.#begun + 1 : 1;
    this.#turn = number;
    rounds.begun(bytes);
    this.#begin(stream);
  }
}
