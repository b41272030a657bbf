import type { Registry } from "prom-client";
import { metricsPage } from "../../lib/net/metrics-page.ts";
import type { Pages } from "../../lib/net/page-server.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** `/healthz`, `/readyz` and `/metrics`, on a port apart from that of clients. `isReady`: whether new connections are accepted. */
export const opsPages = (registry: Registry, isReady: () => boolean, clock?: Clock): Pages => ({
  "/healthz": () => ({ contentType: "application/json", body: '{"status":"ok"}' }),
  "/readyz": () =>
    isReady()
      ? { contentType: "text/plain", body: "ok" }
      : { status: 503, contentType: "text/plain", body: "draining" },
  "/metrics": metricsPage(registry, clock),
});
