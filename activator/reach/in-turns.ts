/** Thousands may wait for one thing. So many are let go in one turn of the loop, which others need meanwhile. */
const inOneTurn = 64;

/** Does the work for each, as many as one turn of the loop may take, the rest in turns that follow. */
export async function inTurns<T>(all: Iterable<T>, work: (each: T) => void): Promise<void> {
  let done = 0;
  for (const each of all) {
    if (done > 0 && done % inOneTurn === 0) await nextTurn();
    work(each);
    done += 1;
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
