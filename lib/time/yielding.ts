import { runGuarded } from "../guard/guard.ts";

/** The number of items handled in one turn of the event loop. */
const inOneTurn = 64;

/**
 * Runs the work for each item, a limited number in each turn of the event loop. An error in the work is reported, and the other
 * items are still handled. Never rejects.
 */
export async function forEachYielding<T>(all: Iterable<T>, work: (each: T) => void): Promise<void> {
  let done = 0;
  for (const each of all) {
    runGuarded("wake", () => work(each));
    done += 1;
    // Before the next item is taken: it may leave meanwhile.
    if (done % inOneTurn === 0) await nextTurn();
  }
}

/** Resolves in the next turn of the event loop, after the sockets had theirs. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
