import { Counter, Gauge, type Registry } from "prom-client";
import type { DrainCall } from "./drain-server.ts";

/** Counts the controller's requests and their effects. */
export function createDrainMetrics(registry: Registry, sizes: { readonly sandboxes: () => number }) {
  const registers = [registry];
  const calls = new Counter({
    name: "rouse_activator_drain_calls_total",
    help: "Calls of the controller to the drain listener, by call and HTTP status code.",
    labelNames: ["call", "code"] as const,
    registers,
  });
  const fenced = new Counter({
    name: "rouse_activator_pods_fenced_total",
    help: "Pods that were fenced: nothing is sent to them any more, because the controller is about to delete them.",
    registers,
  });
  const closed = new Counter({
    name: "rouse_activator_connections_closed_for_sleep_total",
    help: "Open connections that were closed because their sandbox was suspended.",
    registers,
  });
  new Gauge({
    name: "rouse_activator_sandboxes_with_activity",
    help: "Current number of sandboxes whose activity this replica records.",
    registers,
    collect() {
      this.set(sizes.sandboxes());
    },
  });
  return {
    called: (call: DrainCall, code: number) => calls.inc({ call, code }),
    fenced: () => fenced.inc(),
    closedForSleep: () => closed.inc(),
  };
}
