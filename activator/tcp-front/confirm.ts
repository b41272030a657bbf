import {
  type ListeningAnswer,
  type ListeningPort,
  type ListeningRequest,
  listeningWaitMs,
} from "../../api/between-programs/drain-protocol.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { ChangeSignal } from "../sandbox/change-signal.ts";
import type { Listeners } from "./listeners.ts";

/**
 * Reports which of these ports accept connections for these sandboxes, once all of them do except quarantined ports, or the
 * time limit has passed.
 */
export async function confirm(
  { ports }: ListeningRequest,
  listeners: Pick<Listeners, "accepts" | "onAccepting">,
  rests: (port: ListeningPort) => boolean,
  clock: Clock,
): Promise<ListeningAnswer> {
  const missing = new Set(ports);
  const check = () => {
    for (const port of missing) if (listeners.accepts(port) || rests(port)) missing.delete(port);
    return missing.size === 0;
  };
  if (!check()) {
    const signal = new ChangeSignal();
    using _listening = listeners.onAccepting(() => signal.notify());
    let over = false;
    using _limit = clock.after(listeningWaitMs, () => {
      over = true;
      signal.notify();
    });
    while (!over && !check()) {
      signal.reset();
      await signal.next();
    }
  }
  const resting = ports.filter(rests).map(({ activatorPort }) => activatorPort);
  return { ports: ports.filter((port) => listeners.accepts(port)), ...(resting.length > 0 && { resting }) };
}
