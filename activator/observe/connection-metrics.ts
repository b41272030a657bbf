import { Counter, Gauge, type Registry } from "prom-client";
import type { ActivatorError } from "../failures/error-codes.ts";
import { handshakeFailures } from "../http1/front/handshakes.ts";
import type { FrontEvents } from "../http1/front/http1-front.ts";
import type { RequestMetrics } from "./request-metrics.ts";

/** Counts client connections, and those that sent no valid request. */
export function createConnectionMetrics(registry: Registry, requests: RequestMetrics): FrontEvents {
  const registers = [registry];
  let open = 0;
  new Gauge({
    name: "rouse_activator_connections",
    help: "Current number of HTTP and HTTPS connections of clients.",
    registers,
    collect() {
      this.set(open);
    },
  });
  const dropped = new Counter({
    name: "rouse_activator_connections_dropped_total",
    help: "HTTP and HTTPS connections of clients that were closed on accept: at --max-connections, or because file descriptors were about to run out.",
    registers,
  });
  const handshakes = new Counter({
    name: "rouse_activator_tls_handshakes_failed_total",
    help: "TLS handshakes that failed, by reason: timedOut (--headers-timeout) or failed.",
    labelNames: ["reason"] as const,
    registers,
  });
  for (const reason of handshakeFailures) handshakes.inc({ reason }, 0);
  return {
    connected() {
      open += 1;
    },
    disconnected() {
      open -= 1;
    },
    dropped: () => dropped.inc(),
    refused: (error: ActivatorError) => requests.refused(error.code),
    handshakeFailed: (reason) => handshakes.inc({ reason }),
  };
}
