import { runGuarded } from "../../lib/guard/guard.ts";

/** What is gathered in one turn is passed on earlier once it has this length, in bytes. */
export const turnBytesMax = 16_384;

/** Tells the turns of the event loop apart, and calls what is due at the end of one. It needs an event only for a turn in which it is used. */
export class Turn {
  #number = 0;
  #hasEnd = false;
  #tasks: (() => void)[] = [];

  /** The same number means the same turn. */
  get number(): number {
    this.#callEnd();
    return this.#number;
  }

  atEnd(task: () => void): void {
    this.#callEnd();
    this.#tasks.push(task);
  }

  #callEnd(): void {
    if (this.#hasEnd) return;
    this.#hasEnd = true;
    setImmediate(() => this.#end());
  }

  #end(): void {
    this.#hasEnd = false;
    this.#number += 1;
    const tasks = this.#tasks;
    this.#tasks = [];
    for (const task of tasks) runGuarded("http-front", task);
  }
}

/** One event loop serves all connections of the process. */
export const turn: Turn = new Turn();
