import { Counter, Gauge, type Registry } from "prom-client";
import type { DrainCall } from "./drain-server.ts";

/** What the controller asked, and what that did here. */
export function createDrainMetrics(registry: Registry, sizes: { readonly sandboxes: () => number }) {
  const registers = [registry];
  const calls = new Counter({
    name: "rouse_activator_drain_calls_total",
    help: "Questions of the controller, by which it was and how it was answered.",
    labelNames: ["call", "code"] as const,
    registers,
  });
  const forsworn = new Counter({
    name: "rouse_activator_pods_forsworn_total",
    help: "Pods that nothing was sent to any more, for they were doomed.",
    registers,
  });
  const closed = new Counter({
    name: "rouse_activator_connections_closed_for_sleep_total",
    help: "Open connections that were closed because their sandbox went to sleep.",
    registers,
  });
  new Gauge({
    name: "rouse_activator_sandboxes_with_activity",
    help: "Sandboxes whose use is known here.",
    registers,
    collect() {
      this.set(sizes.sandboxes());
    },
  });
  return {
    called: (call: DrainCall, code: number) => calls.inc({ call, code }),
    forswore(connections: number): void {
      forsworn.inc();
      closed.inc(connections);
    },
  };
}
