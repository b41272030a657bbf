import { Counter, Histogram, type Registry } from "prom-client";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import { findCondition, isConditionTrue } from "../../../api/rules/conditions.ts";
import {
  clientFirstRequestedAtAnnotation,
  controllerFirstObservedAtAnnotation,
  createdByLabel,
  normalizedCreator,
  webhookFirstObservedAtAnnotation,
} from "../../../api/rules/keys.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { TenantSeries } from "../../metrics/tenant-series.ts";
import type { LifecycleMetrics } from "../../sandbox/metrics/lifecycle-metrics.ts";
import { launchType, nameOnly, templateName } from "../../sandbox/metrics/metric-labels.ts";

/** How a claim got its Sandbox. */
export interface Provision {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox;
  readonly launchType: "warm" | "cold";
  /** The pool that the Sandbox came from, or that the claim names. */
  readonly poolName: string;
}

const bucketsMs = [
  100, 250, 500, 750, 1_000, 1_250, 1_500, 2_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 240_000,
];

/** Counts how claims get their Sandboxes, and measures the time to each claim's first Ready. */
export class ClaimMetrics {
  readonly #instruments: ReturnType<typeof createInstruments>;
  readonly #lifecycle: LifecycleMetrics;
  readonly #series: TenantSeries;

  constructor(registry: Registry, lifecycle: LifecycleMetrics, clock: Clock) {
    this.#instruments = createInstruments(registry);
    this.#series = new TenantSeries(clock);
    this.#lifecycle = lifecycle;
  }

  provisioned({ claim, sandbox, launchType, poolName }: Provision): void {
    const { namespace = "" } = claim.metadata;
    const sandbox_template = templateName(sandbox) ?? "__unknown__";
    const named = { namespace, sandbox_template, warmpool_name: nameOnly(poolName) ?? "unknown" };
    const closed = {
      launch_type: launchType,
      pod_condition: isConditionTrue(sandbox.status?.conditions, "Ready") ? "ready" : "not_ready",
      created_by: normalizedCreator(claim.metadata.labels?.[createdByLabel] ?? ""),
    };
    this.#series.inc(this.#instruments.created, { namespace, named }, closed);
  }

  /** `firstObservedAt` is used if the claim has no such annotation. An implausible start time is not measured. */
  firstReady(claim: SandboxClaim, sandbox: Sandbox | undefined, firstObservedAt: string | undefined, now: Date): void {
    const { annotations = {}, namespace = "" } = claim.metadata;
    const named = { sandbox_template: (sandbox && templateName(sandbox)) ?? "__unknown__" };
    const closed = { launch_type: sandbox ? launchType(sandbox) : "unknown" };
    const { startup, controllerStartup, clientStartup } = this.#instruments;
    const observe = (histogram: typeof startup, start: string | undefined) => {
      const elapsedMs = now.getTime() - (readTime(start) ?? now).getTime();
      if (readTime(start) && elapsedMs >= 0)
        this.#series.observe(histogram, { namespace, named }, { closed, value: elapsedMs });
    };
    observe(startup, annotations[webhookFirstObservedAtAnnotation]);
    observe(controllerStartup, annotations[controllerFirstObservedAtAnnotation] || firstObservedAt);
    observe(clientStartup, annotations[clientFirstRequestedAtAnnotation]);
    const ready = findCondition(sandbox?.status?.conditions, "Ready");
    if (sandbox && ready?.status === "True") this.#lifecycle.createdUntil(sandbox, ready);
  }
}

function createInstruments(registry: Registry) {
  const registers = [registry];
  const latency = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ["launch_type", "sandbox_template"], buckets: bucketsMs, registers });
  return {
    startup: latency(
      "agent_sandbox_claim_startup_latency_ms",
      "Time from the admission of a claim to the first Ready of the claim, in ms. A webhook of yours writes the time of the admission into the annotation agents.x-k8s.io/webhook-first-observed-at.",
    ),
    controllerStartup: latency(
      "agent_sandbox_claim_controller_startup_latency_ms",
      "Time from the controller's first sight of a claim to the first Ready of the claim, in ms.",
    ),
    clientStartup: latency(
      "agent_sandbox_client_claim_startup_latency_ms",
      "Time from the request for a claim to the first Ready of the claim, in ms. The client writes the time of the request into the annotation agents.x-k8s.io/client-first-requested-at.",
    ),
    created: new Counter({
      name: "agent_sandbox_claim_creation_total",
      help: "Sandboxes given to claims, by launch type.",
      labelNames: ["namespace", "sandbox_template", "launch_type", "warmpool_name", "pod_condition", "created_by"],
      registers,
    }),
  };
}
