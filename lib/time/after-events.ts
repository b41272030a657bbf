import { runGuarded } from "../guard/guard.ts";
import type { Clock, Timer } from "./clock.ts";

/**
 * Runs `task` once after `delayMs` milliseconds, but not before the events that the sockets had by then. A process that stood
 * still runs its timers first (Node documentation, the event loop), and what came in time would seem late.
 */
export function afterEvents(clock: Clock, delayMs: number, task: () => void): Timer {
  let turn: NodeJS.Immediate | undefined;
  const timer = clock.after(delayMs, () => {
    turn = setImmediate(() => runGuarded("timer", task));
  });
  const cancel = () => {
    timer.cancel();
    clearImmediate(turn);
  };
  return { cancel, [Symbol.dispose]: cancel };
}
