import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export const wakeOutcomes = ["answered", "refused", "clientLeft"] as const;
/** How the request that woke a sandbox ended. */
export type WakeOutcome = (typeof wakeOutcomes)[number];

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** What holding and waking cost. */
export function createWakeMetrics(registry: Registry, heldMax: number) {
  const registers = [registry];
  const wakes = new Counter({
    name: "rouse_activator_wakes_total",
    help: "Sandboxes that a request here woke, by how that request ended.",
    labelNames: ["outcome"] as const,
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
  for (const outcome of wakeOutcomes) wakes.inc({ outcome }, 0);

  return {
    holdBegan: () => held.inc(),
    holdEnded(seconds: number): void {
      held.dec();
      holdTime.observe(seconds);
    },
    wakeEnded(outcome: WakeOutcome, seconds: number): void {
      wakes.inc({ outcome });
      if (outcome === "answered") latency.observe(seconds);
    },
  };
}

export type WakeMetrics = ReturnType<typeof createWakeMetrics>;
