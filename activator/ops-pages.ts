import type { Registry } from "prom-client";
import type { Pages } from "../lib/page-server.ts";

/** `/healthz`, `/readyz` and `/metrics`, apart from the port that strangers reach. `isReady`: new connections are wanted. */
export const opsPages = (registry: Registry, isReady: () => boolean): Pages => ({
  "/healthz": () => ({ contentType: "application/json", body: '{"status":"ok"}' }),
  "/readyz": () =>
    isReady()
      ? { contentType: "text/plain", body: "ok" }
      : { status: 503, contentType: "text/plain", body: "draining" },
  "/metrics": async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
});
