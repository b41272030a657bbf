import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export const wakeOutcomes = ["answered", "refused", "clientLeft"] as const;
/** How the request that woke a sandbox ended. */
export type WakeOutcome = (typeof wakeOutcomes)[number];

export const wakeTriggers = ["request", "connection", "movement"] as const;
/** What woke it: a request, a raw connection, or something that moved on one that was open already. */
export type WakeTrigger = (typeof wakeTriggers)[number];

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** What holding and waking cost. */
export function createWakeMetrics(registry: Registry, heldMax: number) {
  const registers = [registry];
  const wakes = new Counter({
    name: "rouse_activator_wakes_total",
    help: "Sandboxes that were woken here, by what did it and by how that ended.",
    labelNames: ["trigger", "outcome"] as const,
    registers,
  });
  const latency = new Histogram({
    name: "rouse_activator_wake_seconds",
    help: "Time from the head of the request that woke to the first byte of its response.",
    buckets,
    registers,
  });
  const holdTime = new Histogram({
    name: "rouse_activator_hold_seconds",
    help: "Time that requests were held, however it ended.",
    buckets,
    registers,
  });
  const held = new Gauge({
    name: "rouse_activator_held_requests",
    help: "Requests that are held now.",
    registers,
  });
  new Gauge({
    name: "rouse_activator_held_requests_limit",
    help: "Requests that may be held at once, at most.",
    registers,
  }).set(heldMax);
  for (const trigger of wakeTriggers) for (const outcome of wakeOutcomes) wakes.inc({ trigger, outcome }, 0);

  return {
    holdBegan: () => held.inc(),
    holdEnded(seconds: number): void {
      held.dec();
      holdTime.observe(seconds);
    },
    /** By something that moved on an open connection: there is nobody who waits for an answer. */
    stirred: () => wakes.inc({ trigger: "movement", outcome: "answered" }),
    wakeEnded(trigger: WakeTrigger, outcome: WakeOutcome, seconds: number): void {
      wakes.inc({ trigger, outcome });
      if (outcome === "answered") latency.observe(seconds);
    },
  };
}

export type WakeMetrics = ReturnType<typeof createWakeMetrics>;
