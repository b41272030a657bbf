import type { Clock } from "./clock.ts";

/** Three pieces fit into one turn of the event loop (`Turns`). */
const pieceMs = 15;

/** Whether a loop over many items that begins now has taken long enough: the rest is for a later turn of the event loop. */
export function pieceFromNow(clock: Clock): () => boolean {
  const beganMs = clock.ticksMs();
  return () => clock.ticksMs() - beganMs >= pieceMs;
}
