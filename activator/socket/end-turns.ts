import { runGuarded } from "../../lib/guard/guard.ts";

/** A socket whose end has come. */
export interface EndedSocket {
  readonly destroyed: boolean;
  /** Handles the end that was put off. */
  endNow(): void;
}

/** In one turn of the event loop at most this many ends are handled as they come, and as many that have waited. Each takes 10 to 20 µs. */
export const endsInOneTurn = 128;

/**
 * Limits how many connections end in one turn of the event loop. When a load balancer or a node goes, thousands end at once, and libuv
 * reports them all in one turn. The rest wait for the next turns, in order. Nothing is read from a socket that waits.
 */
export class EndTurns<T extends EndedSocket> {
  readonly #nextTurn: (turn: () => void) => void;
  #ends = 0;
  #waiting: T[] = [];
  readonly #turn = (): void => this.#go();

  /** `nextTurn`: calls back after the events of this turn. */
  constructor(nextTurn: (turn: () => void) => void = setImmediate) {
    this.#nextTurn = nextTurn;
  }

  /** Whether the end of this socket is handled now. If not, `endNow` is called in a later turn. */
  mayEnd(socket: T): boolean {
    if (this.#ends === 0) this.#nextTurn(this.#turn);
    if (this.#ends < endsInOneTurn) {
      this.#ends += 1;
      return true;
    }
    this.#waiting.push(socket);
    return false;
  }

  #go(): void {
    this.#ends = 0;
    if (this.#waiting.length === 0) return;
    const now = this.#waiting.slice(0, endsInOneTurn);
    this.#waiting = this.#waiting.slice(endsInOneTurn);
    this.#ends = now.length;
    this.#nextTurn(this.#turn);
    for (const socket of now) {
      if (!socket.destroyed) runGuarded("socket", () => socket.endNow());
    }
  }
}
