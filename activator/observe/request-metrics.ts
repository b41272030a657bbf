import { Counter, Gauge, type Registry } from "prom-client";
import { activatorErrors, type ErrorCode } from "../errors.ts";
import { RequestSeries } from "./request-series.ts";

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export type UpstreamFailure = "dial" | "timeout" | "eof" | "other";

/** The series of the ecosystem's router, by its names, and what this router refuses. */
export function createRequestMetrics(registry: Registry, version: string) {
  const registers = [registry];
  const series = new RequestSeries(registry);
  // Counted here, and told when somebody asks: the library hashes labels at each step, and there are two for each request.
  let inflight = 0;
  new Gauge({
    name: "sandbox_router_inflight_requests",
    help: "Requests that are held or carried now.",
    registers,
    collect() {
      this.set(inflight);
    },
  });
  const upstreamErrors = new Counter({
    name: "sandbox_router_upstream_errors_total",
    help: "Requests that a sandbox failed, by how.",
    labelNames: ["sandbox_namespace", "reason"] as const,
    registers,
  });
  const retries = new Counter({
    name: "sandbox_router_upstream_retries_total",
    help: "Dials that failed and were tried again.",
    labelNames: ["sandbox_namespace"] as const,
    registers,
  });
  const allowed = new Map<string, number>();
  const decisions = new Counter({
    name: "sandbox_router_authz_decisions_total",
    help: "Authorization decisions.",
    labelNames: ["sandbox_namespace", "decision"] as const,
    registers,
    collect() {
      for (const [namespace, count] of allowed) this.inc({ sandbox_namespace: namespace, decision: "allow" }, count);
      allowed.clear();
    },
  });
  const refused = new Counter({
    name: "rouse_activator_refused_total",
    help: "Requests that were not carried, by reason.",
    labelNames: ["reason"] as const,
    registers,
  });
  const build = new Gauge({
    name: "sandbox_router_build_info",
    help: "What runs here; always 1.",
    labelNames: ["git_version", "git_commit", "build_date", "go_version", "compiler", "platform"] as const,
    registers,
  });
  build.set({ git_version: version, compiler: `node ${process.version}`, platform: process.platform }, 1);
  for (const reason of Object.keys(activatorErrors)) refused.inc({ reason }, 0);

  return {
    began(): void {
      inflight += 1;
    },
    ended(method: string, status: number, namespace: string, seconds: number): void {
      inflight -= 1;
      // Both labels come from clients, who could otherwise make as many series as they like.
      series.ended(methods.has(method) ? method : "other", status, namespace, seconds);
    },
    upstreamFailed: (namespace: string, reason: UpstreamFailure) =>
      upstreamErrors.inc({ sandbox_namespace: namespace, reason }),
    retried: (namespace: string) => retries.inc({ sandbox_namespace: namespace }),
    decided(namespace: string, decision: "allow" | "deny"): void {
      if (decision === "allow") allowed.set(namespace, (allowed.get(namespace) ?? 0) + 1);
      else decisions.inc({ sandbox_namespace: namespace, decision });
    },
    refused: (reason: ErrorCode) => refused.inc({ reason }),
  };
}

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;
