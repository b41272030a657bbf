import { Counter, Gauge, type Registry } from "prom-client";
import { activatorErrors, type ErrorCode } from "../failures/errors-for-clients.ts";
import { methodLabel } from "./labels.ts";
import type { NamespaceLabels } from "./namespace-labels.ts";
import { RequestSeries } from "./request-series.ts";

const upstreamFailures = ["dial", "timeout", "eof", "other"] as const;
export type UpstreamFailure = (typeof upstreamFailures)[number];

/** The metrics of the ecosystem's router, by its names, and rejected requests. */
export class RequestMetrics {
  readonly #namespaces: NamespaceLabels;
  readonly #series: RequestSeries;
  readonly #upstreamErrors: Counter<"sandbox_namespace" | "reason">;
  readonly #retries: Counter<"sandbox_namespace">;
  readonly #decisions: Counter<"sandbox_namespace" | "decision">;
  readonly #refused: Counter<"reason">;
  // Counted here and collected by a scrape: the library hashes labels at each update, and each request makes two.
  #inflight = 0;
  readonly #allowed = new Map<string, number>();

  constructor(registry: Registry, version: string, namespaces: NamespaceLabels) {
    const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
      new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
    this.#namespaces = namespaces;
    this.#series = new RequestSeries(registry, namespaces);
    const failed =
      "Requests that failed at the sandbox before a response began, by reason: dial, timeout, eof or other.";
    this.#upstreamErrors = counter("sandbox_router_upstream_errors_total", failed, ["sandbox_namespace", "reason"]);
    const retried =
      "Failed attempts to connect to a sandbox for HTTP requests. The activator tries again within the limits of the request.";
    this.#retries = counter("sandbox_router_upstream_retries_total", retried, ["sandbox_namespace"]);
    const refused = "Requests that were rejected by the activator, by the code of the error.";
    this.#refused = counter("rouse_activator_refused_total", refused, ["reason"]);
    for (const reason of Object.keys(activatorErrors)) this.#refused.inc({ reason }, 0);
    this.#decisions = decisionsOf(registry, this.#allowed);
    registerInflight(registry, () => this.#inflight);
    registerBuild(registry, version);
    namespaces.onDropped((namespace) => this.#drop(namespace));
  }

  began(): void {
    this.#inflight += 1;
  }

  ended(method: string, status: number, namespace: string, seconds: number): void {
    this.#inflight -= 1;
    this.#series.ended(methodLabel(method), status, namespace, seconds);
  }

  upstreamFailed(namespace: string, reason: UpstreamFailure): void {
    this.#upstreamErrors.inc({ sandbox_namespace: this.#namespaces.of(namespace), reason });
  }

  retried(namespace: string): void {
    this.#retries.inc({ sandbox_namespace: this.#namespaces.of(namespace) });
  }

  decided(namespace: string, decision: "allow" | "deny"): void {
    const label = this.#namespaces.of(namespace);
    if (decision === "allow") this.#allowed.set(label, (this.#allowed.get(label) ?? 0) + 1);
    else this.#decisions.inc({ sandbox_namespace: label, decision });
  }

  refused(reason: ErrorCode): void {
    this.#refused.inc({ reason });
  }

  #drop(sandbox_namespace: string): void {
    for (const reason of upstreamFailures) this.#upstreamErrors.remove({ sandbox_namespace, reason });
    for (const decision of ["allow", "deny"]) this.#decisions.remove({ sandbox_namespace, decision });
    this.#retries.remove({ sandbox_namespace });
    this.#allowed.delete(sandbox_namespace);
  }
}

function decisionsOf(registry: Registry, allowed: Map<string, number>): Counter<"sandbox_namespace" | "decision"> {
  return new Counter({
    name: "sandbox_router_authz_decisions_total",
    help: "Authorization decisions: allow or deny.",
    labelNames: ["sandbox_namespace", "decision"],
    registers: [registry],
    collect() {
      for (const [namespace, count] of allowed) this.inc({ sandbox_namespace: namespace, decision: "allow" }, count);
      allowed.clear();
    },
  });
}

function registerInflight(registry: Registry, inflight: () => number): void {
  new Gauge({
    name: "sandbox_router_inflight_requests",
    help: "Current number of requests in progress: being authorized, held or proxied.",
    registers: [registry],
    collect() {
      this.set(inflight());
    },
  });
}

function registerBuild(registry: Registry, version: string): void {
  const build = new Gauge({
    name: "sandbox_router_build_info",
    help: "Version of this program; always 1.",
    labelNames: ["git_version", "git_commit", "build_date", "go_version", "compiler", "platform"] as const,
    registers: [registry],
  });
  build.set({ git_version: version, compiler: `node ${process.version}`, platform: process.platform }, 1);
}
