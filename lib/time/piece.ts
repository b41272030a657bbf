import type { Clock } from "./clock.ts";
import { nextTurn } from "./yielding.ts";

/** Three pieces fit into one turn of the event loop (`Turns`). */
const pieceMs = 15;

/** Whether a loop over many items that begins now has taken long enough (`ms`): the rest is for a later turn of the event loop. */
export function pieceFromNow(clock: Clock, ms = pieceMs): () => boolean {
  const beganMs = clock.ticksMs();
  return () => clock.ticksMs() - beganMs >= ms;
}

/** In a process that gets little processor time, the 15 ms may pass before the second item. */
const pieceItemsMin = 64;
/** As long as a turn of the event loop (`Turns`). One item of a tenant may take that long, so no number of items makes a piece longer. */
const pieceMsMax = 50;

/**
 * For a loop over many items that has to reach its end: call it after each item, and await what it returns, if anything. Then a piece is over,
 * and the next one begins in the next turn of the event loop. A piece has at least 64 items, or takes at least 50 ms.
 */
export function piecesFromNow(clock: Clock): () => Promise<void> | undefined {
  let isOver = pieceFromNow(clock);
  let isTooLong = pieceFromNow(clock, pieceMsMax);
  let items = 0;
  return () => {
    items += 1;
    const isLast = items < pieceItemsMin ? isTooLong() : isOver();
    if (!isLast) return undefined;
    return nextTurn().then(() => {
      isOver = pieceFromNow(clock);
      isTooLong = pieceFromNow(clock, pieceMsMax);
      items = 0;
    });
  };
}
