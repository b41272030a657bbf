import { turn } from "../turn.ts";

/** The maximum streams of one connection that begin in one turn of the event loop. One read may bring a thousand. */
const streamsInOneTurn = 16;

/** Gives one connection a share of each turn of the event loop: streams beyond it begin in the next turns, in order. */
export class StreamTurns<S> {
  readonly #begin: (stream: S) => void;
  #waiting: S[] = [];
  #begun = 0;
  #hasNext = false;

  /** `begin` must not throw. */
  constructor(begin: (stream: S) => void) {
    this.#begin = begin;
  }

  add(stream: S): void {
    if (this.#begun < streamsInOneTurn && this.#waiting.length === 0) {
      this.#begun += 1;
      this.#begin(stream);
    } else this.#waiting.push(stream);
    this.#callNext();
  }

  #callNext(): void {
    if (this.#hasNext) return;
    this.#hasNext = true;
    turn.atEnd(() => this.#next());
  }

  #next(): void {
    this.#hasNext = false;
    const now = this.#waiting.splice(0, streamsInOneTurn);
    this.#begun = now.length;
    if (now.length > 0) this.#callNext();
    for (const stream of now) this.#begin(stream);
  }
}
