import type { WakeTimeline } from "../../api/between-programs/wake-timeline.ts";

/** The wake in the activator's access log that belongs to a request of this user agent, once the request has ended. */
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

/** Steps that were not observed are absent in the JSON. */
function timelineOf({ wakePatched, podCreated, portAccepted, firstByte }: Partial<WakeTimeline>): WakeTimeline {
  return { seen: 0, wakePatched, podCreated, portAccepted, firstByte };
}
