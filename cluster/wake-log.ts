import type { WakeTimeline } from "../api/wake-timeline.ts";

/** What the activator's access log says of the request of a user agent, once it has woken a sandbox and ended. */
export function findWake(log: string, userAgent: string): WakeTimeline | undefined {
  for (const line of log.split("\n")) {
    if (!line.includes(userAgent)) continue;
    const { user_agent, wake }: LogLine = JSON.parse(line);
    if (user_agent === userAgent && wake) return timelineOf(wake);
  }
  return undefined;
}

interface LogLine {
  readonly user_agent?: string;
  readonly wake?: Partial<WakeTimeline>;
}

/** In JSON, a step that was not seen is not there. */
function timelineOf({ wakePatched, podCreated, portAccepted, firstByte }: Partial<WakeTimeline>): WakeTimeline {
  return { seen: 0, wakePatched, podCreated, portAccepted, firstByte };
}
