import {
  type ListeningAnswer,
  type ListeningPort,
  type ListeningRequest,
  listeningWaitMs,
} from "../../api/drain-protocol.ts";
import type { Clock } from "../../lib/clock.ts";
import { Bell } from "../sandbox/bell.ts";
import type { Listeners } from "./listeners.ts";

/**
 * Says on which of these ports connections are accepted for these sandboxes: once it is all of them but those that rest, or
 * time is up.
 */
export async function confirm(
  { ports }: ListeningRequest,
  listeners: Pick<Listeners, "accepts" | "onAccepting">,
  rests: (port: ListeningPort) => boolean,
  clock: Clock,
): Promise<ListeningAnswer> {
  const missing = new Set(ports);
  const look = () => {
    for (const port of missing) if (listeners.accepts(port) || rests(port)) missing.delete(port);
    return missing.size === 0;
  };
  if (!look()) {
    const bell = new Bell();
    using _listening = listeners.onAccepting(() => bell.ring());
    let over = false;
    using _limit = clock.after(listeningWaitMs, () => {
      over = true;
      bell.ring();
    });
    while (!over && !look()) {
      bell.reset();
      await bell.next();
    }
  }
  const resting = ports.filter(rests).map(({ activatorPort }) => activatorPort);
  return { ports: ports.filter((port) => listeners.accepts(port)), ...(resting.length > 0 && { resting }) };
}
