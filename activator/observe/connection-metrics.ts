import { Counter, Gauge, type Registry } from "prom-client";
import type { ActivatorError } from "../errors.ts";
import type { FrontEvents } from "../http1/front/front.ts";
import type { RequestMetrics } from "./request-metrics.ts";

/** Counts the connections of clients, and what came on them that was no request. */
export function createConnectionMetrics(registry: Registry, requests: RequestMetrics): FrontEvents {
  const registers = [registry];
  let open = 0;
  new Gauge({
    name: "rouse_activator_connections",
    help: "Connections of clients that are open now.",
    registers,
    collect() {
      this.set(open);
    },
  });
  const dropped = new Counter({
    name: "rouse_activator_connections_dropped_total",
    help: "Connections that were closed at once because there were too many.",
    registers,
  });
  return {
    connected() {
      open += 1;
    },
    disconnected() {
      open -= 1;
    },
    dropped: () => dropped.inc(),
    refused: (error: ActivatorError) => requests.refused(error.code),
  };
}
