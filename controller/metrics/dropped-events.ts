import { Counter, type Registry } from "prom-client";
import { type EventDropReason, eventDropReasons } from "../../kube/events/event-recorder.ts";

/** Counts the events that were not written, by reason. Returns what the event recorders call for each. */
export function countDroppedEvents(registry: Registry): (reason: EventDropReason) => void {
  const dropped = new Counter({
    name: "rouse_events_dropped_total",
    help:
      "Events that were not written: object_rate_limit (the object has too many events), backlog (too many events wait), " +
      "write_failed (the API server rejected the event, or could not be reached).",
    labelNames: ["reason"] as const,
    registers: [registry],
  });
  for (const reason of eventDropReasons) dropped.inc({ reason }, 0);
  return (reason) => dropped.inc({ reason });
}
