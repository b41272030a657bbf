import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const wakeOutcomes = ["answered", "waitPage", "refused", "clientLeft"] as const;
/** The outcome of the request that woke a sandbox. */
export type WakeOutcome = (typeof wakeOutcomes)[number];

const wakeTriggers = ["request", "connection", "movement"] as const;
/** What woke it: a request, a raw connection, or activity on an open connection. */
export type WakeTrigger = (typeof wakeTriggers)[number];

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Measures holds and wakes. */
export function createWakeMetrics(registry: Registry) {
  const registers = [registry];
  const wakes = new Counter({
    name: "rouse_activator_wakes_total",
    help: "Wakes by this replica, by trigger: request, connection (TCP) or movement (data on an open connection), and by the outcome for the client: answered, waitPage (a browser got the wait page), refused or clientLeft. A wake by movement has no waiting client and counts as answered.",
    labelNames: ["trigger", "outcome"] as const,
    registers,
  });
  const latency = new Histogram({
    name: "rouse_activator_wake_seconds",
    help: "Time from the complete head of the request that woke the sandbox to the complete head of the response of the sandbox; interim responses (1xx) do not count. For a TCP connection: from its arrival, or by name from its TLS handshake, until the activator is connected to the sandbox. Only wakes whose client was answered are measured.",
    buckets,
    registers,
  });
  const holdTime = new Histogram({
    name: "rouse_activator_hold_seconds",
    help: "Time that requests and TCP connections were held, or needed to connect to a running sandbox, for every outcome.",
    buckets,
    registers,
  });
  const held = new Gauge({
    name: "rouse_activator_held_requests",
    help: "Current number of requests and TCP connections that are held, or that connect to a running sandbox.",
    registers,
  });
  for (const trigger of wakeTriggers) for (const outcome of wakeOutcomes) wakes.inc({ trigger, outcome }, 0);

  return {
    holdBegan: () => held.inc(),
    holdEnded(seconds: number): void {
      held.dec();
      holdTime.observe(seconds);
    },
    /** A wake by activity on an open connection. No client waits for it. */
    connection: () => wakes.inc({ trigger: "movement", outcome: "answered" }),
    wakeEnded(trigger: WakeTrigger, outcome: WakeOutcome, seconds: number): void {
      wakes.inc({ trigger, outcome });
      if (outcome === "answered") latency.observe(seconds);
    },
  };
}

export type WakeMetrics = ReturnType<typeof createWakeMetrics>;
