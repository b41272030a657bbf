import { Counter, Histogram, type Registry } from "prom-client";
import { findCondition, isConditionTrue } from "../../api/conditions.ts";
import {
  clientFirstRequestedAtAnnotation,
  controllerFirstObservedAtAnnotation,
  createdByLabel,
  normalizedCreator,
  webhookFirstObservedAtAnnotation,
} from "../../api/keys.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import type { LifecycleMetrics } from "../sandbox/lifecycle-metrics.ts";
import { launchType, templateName } from "../sandbox/metric-labels.ts";

/** How a claim came to its Sandbox. */
export interface Provision {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox;
  readonly launchType: "warm" | "cold";
  /** The pool that it came from, or that the claim names. */
  readonly poolName: string;
}

const bucketsMs = [
  100, 250, 500, 750, 1_000, 1_250, 1_500, 2_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 240_000,
];

/** Counts how claims get their sandboxes, and times the first time that each is ready. */
export class ClaimMetrics {
  readonly #instruments: ReturnType<typeof createInstruments>;
  readonly #lifecycle: LifecycleMetrics;

  constructor(registry: Registry, lifecycle: LifecycleMetrics) {
    this.#instruments = createInstruments(registry);
    this.#lifecycle = lifecycle;
  }

  provisioned({ claim, sandbox, launchType, poolName }: Provision): void {
    this.#instruments.created.inc({
      namespace: claim.metadata.namespace ?? "",
      sandbox_template: templateName(sandbox) ?? "__unknown__",
      launch_type: launchType,
      warmpool_name: poolName,
      pod_condition: isConditionTrue(sandbox.status?.conditions, "Ready") ? "ready" : "not_ready",
      created_by: normalizedCreator(claim.metadata.labels?.[createdByLabel] ?? ""),
    });
  }

  /** `firstObservedAt` is for a claim that does not carry it. A start that cannot be right is not timed. */
  firstReady(claim: SandboxClaim, sandbox: Sandbox | undefined, firstObservedAt: string | undefined, now: Date): void {
    const { annotations = {} } = claim.metadata;
    const labels = {
      launch_type: sandbox ? launchType(sandbox) : "unknown",
      sandbox_template: (sandbox && templateName(sandbox)) ?? "__unknown__",
    };
    const { startup, controllerStartup, clientStartup } = this.#instruments;
    const since = (start: string | undefined) => now.getTime() - parseTime(start ?? "");
    const observe = (histogram: typeof startup, start: string | undefined) => {
      const elapsedMs = since(start);
      if (elapsedMs >= 0) histogram.observe(labels, elapsedMs);
    };
    observe(startup, annotations[webhookFirstObservedAtAnnotation]);
    observe(controllerStartup, annotations[controllerFirstObservedAtAnnotation] || firstObservedAt);
    observe(clientStartup, annotations[clientFirstRequestedAtAnnotation]);
    const ready = findCondition(sandbox?.status?.conditions, "Ready");
    if (sandbox && ready?.status === "True") this.#lifecycle.createdUntil(sandbox, ready);
  }
}

/** Milliseconds since 1970 of a time in RFC 3339; NaN for anything else: `Date` alone takes `5` for a day of 2001. */
const parseTime = (text: string): number =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text) ? Date.parse(text) : Number.NaN;

function createInstruments(registry: Registry) {
  const registers = [registry];
  const latency = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ["launch_type", "sandbox_template"], buckets: bucketsMs, registers });
  return {
    startup: latency("agent_sandbox_claim_startup_latency_ms", "From a claim's admission to its first Ready, in ms."),
    controllerStartup: latency(
      "agent_sandbox_claim_controller_startup_latency_ms",
      "From the controller's first sight of a claim to its first Ready, in ms.",
    ),
    clientStartup: latency(
      "agent_sandbox_client_claim_startup_latency_ms",
      "From a client's wish for a claim to its first Ready, in ms.",
    ),
    created: new Counter({
      name: "agent_sandbox_claim_creation_total",
      help: "Sandboxes that claims got, by how.",
      labelNames: ["namespace", "sandbox_template", "launch_type", "warmpool_name", "pod_condition", "created_by"],
      registers,
    }),
  };
}
