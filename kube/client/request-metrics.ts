import { Counter, type Registry } from "prom-client";

/** Counts requests to the API server under the metric name of the ecosystem's dashboards. */
export function createRequestMetrics(registry: Registry, host: string) {
  const requests = new Counter({
    name: "rest_client_requests_total",
    help: "Requests to the API server, by HTTP status code (<error>: no response), method and host.",
    labelNames: ["code", "method", "host"],
    registers: [registry],
  });
  return {
    answered: (method: string, code: number) => requests.inc({ method, code: String(code), host }),
    unanswered: (method: string) => requests.inc({ method, code: "<error>", host }),
  };
}

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;
