import { Counter, Histogram, type Registry } from "prom-client";
import { type Condition, keyOf } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { effectiveShutdownPolicy } from "../../../api/rules/defaults.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { type TenantLabels, TenantSeries } from "../../metrics/tenant-series.ts";
import { becameUnready, type StatusTransition, turnedTrue } from "../events.ts";
import { MemoryMetrics } from "./memory-metrics.ts";
import { launchType, lifecycleNames, ownedBy, templateName } from "./metric-labels.ts";
import { SleepTimeMetrics } from "./sleep-time-metrics.ts";

type Change = "suspend" | "resume";

interface Begun {
  readonly change: Change;
  /** Monotonic. */
  readonly sinceMs: number;
}

const common = ["namespace", "sandbox_template", "owned_by"];
const latencyBucketsMs = [
  50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 240_000, 300_000, 600_000,
];

/** Counts and times the phases of sandboxes. It receives every pass and detects the transitions itself. */
export class LifecycleMetrics {
  readonly #clock: Clock;
  readonly #instruments: ReturnType<typeof createInstruments>;
  /** Suspensions and resumes in progress, by sandbox. After a restart of the process they are not timed. */
  readonly #underWay = new Map<string, Begun>();
  /** Sandboxes that were seen from their first pass on and have not been Ready yet. */
  readonly #newborn = new Set<string>();
  readonly #sleepTimes: SleepTimeMetrics;
  readonly #memory: MemoryMetrics;
  readonly #series: TenantSeries;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    this.#instruments = createInstruments(registry);
    this.#series = new TenantSeries(clock);
    this.#sleepTimes = new SleepTimeMetrics(registry, clock);
    this.#memory = new MemoryMetrics(registry);
  }

  passed(transition: StatusTransition): void {
    const names = lifecycleNames(transition.sandbox);
    const owner = { owned_by: ownedBy(transition.sandbox) };
    this.#modeChanged(transition, names);
    const { finished, expired } = this.#instruments;
    if (turnedTrue(transition, "Finished")) {
      const reason = findCondition(transition.after, "Finished")?.reason ?? "";
      this.#series.inc(finished, names, { ...owner, reason });
    }
    if (becameUnready(transition, "SandboxExpired")) {
      const shutdown_policy = effectiveShutdownPolicy(transition.sandbox.spec);
      this.#series.inc(expired, names, { ...owner, shutdown_policy });
    }
    this.#firstReady(transition);
    this.#sleepTimes.passed(transition);
    this.#memory.passed(transition);
  }

  /** The sandbox is gone, and with it any suspension or resume in progress. */
  forget(key: string): void {
    this.#underWay.delete(key);
    this.#newborn.delete(key);
  }

  #modeChanged(transition: StatusTransition, names: TenantLabels): void {
    const owner = { owned_by: ownedBy(transition.sandbox) };
    const key = keyOf(transition.sandbox);
    const requested = requestedChange(transition);
    if (requested) {
      this.#underWay.set(key, { change: requested, sinceMs: this.#clock.ticksMs() });
      this.#series.inc(this.#instruments[requested].total, names, { ...owner, result: "requested" });
    }
    const begun = this.#underWay.get(key);
    if (!begun) return;
    const { total, latency } = this.#instruments[begun.change];
    if (transition.failures.length > 0) this.#series.inc(total, names, { ...owner, result: "error" });
    const result = reached(transition, begun.change);
    if (!result) return;
    this.#series.inc(total, names, { ...owner, result });
    this.#series.observe(latency, names, { closed: owner, value: this.#clock.ticksMs() - begun.sinceMs });
    this.#underWay.delete(key);
  }

  /** A claim times its sandbox itself, also a member of a pool; only sandboxes without an owner are timed here. */
  #firstReady(transition: StatusTransition): void {
    const { sandbox, before, after } = transition;
    const key = keyOf(sandbox);
    if (before.length === 0 && ownedBy(sandbox) === "None") this.#newborn.add(key);
    // Time in suspension is not creation time.
    if (requestedChange(transition)) this.#newborn.delete(key);
    if (!turnedTrue(transition, "Ready") || !this.#newborn.delete(key)) return;
    const ready = findCondition(after, "Ready");
    if (ready) this.createdUntil(sandbox, ready);
  }

  /** Observes the creation time of a sandbox, which ends when it becomes Ready. */
  createdUntil(sandbox: Sandbox, { lastTransitionTime }: Condition): void {
    const readyAt = readTime(lastTransitionTime);
    const createdAt = readTime(sandbox.metadata.creationTimestamp);
    if (!readyAt || !createdAt || readyAt < createdAt) return;
    const latencyMs = readyAt.getTime() - createdAt.getTime();
    const { namespace = "" } = sandbox.metadata;
    const named = { namespace, sandbox_template: templateName(sandbox) ?? "__unknown__" };
    const closed = { launch_type: launchType(sandbox) };
    this.#series.observe(this.#instruments.creation, { namespace, named }, { closed, value: latencyMs });
  }
}

/** The change of mode that this pass saw first. A sandbox that was created suspended requests none. */
function requestedChange({ before, after }: StatusTransition): Change | undefined {
  const was = findCondition(before, "Suspended")?.reason;
  const is = findCondition(after, "Suspended")?.reason;
  if (was === undefined || (was === "NotSuspended") === (is === "NotSuspended")) return undefined;
  return was === "NotSuspended" ? "suspend" : "resume";
}

function reached(transition: StatusTransition, change: Change): "pod_terminated" | "ready" | undefined {
  if (change === "suspend") return turnedTrue(transition, "Suspended") ? "pod_terminated" : undefined;
  return turnedTrue(transition, "Ready") ? "ready" : undefined;
}

function createInstruments(registry: Registry) {
  const registers = [registry];
  const counter = (name: string, help: string, label: string) =>
    new Counter({ name, help, labelNames: [...common, label], registers });
  const latency = (name: string, help: string, labelNames = common) =>
    new Histogram({ name, help, labelNames, buckets: latencyBucketsMs, registers });
  return {
    suspend: {
      total: counter(
        "agent_sandbox_suspend_total",
        "Steps of suspensions, by result: requested, pod_terminated, or error (one for each failed reconcile).",
        "result",
      ),
      latency: latency(
        "agent_sandbox_suspend_latency_ms",
        "Time from the first sight of a suspension request until the Pod is gone, in ms.",
      ),
    },
    resume: {
      total: counter(
        "agent_sandbox_resume_total",
        "Steps of resumes, by result: requested, ready, or error (one for each failed reconcile).",
        "result",
      ),
      latency: latency(
        "agent_sandbox_resume_latency_ms",
        "Time from the first sight of a resume request to Ready, in ms.",
      ),
    },
    finished: counter(
      "agent_sandbox_finished_total",
      "Sandboxes whose Pod has ended, by reason: PodSucceeded or PodFailed.",
      "reason",
    ),
    expired: counter("agent_sandbox_expired_total", "Sandboxes that expired, by shutdown policy.", "shutdown_policy"),
    creation: latency(
      "agent_sandbox_creation_latency_ms",
      "Time from the creation of a Sandbox to its first Ready, in ms. For a sandbox of a claim, the time is observed when the claim is Ready.",
      ["namespace", "launch_type", "sandbox_template"],
    ),
  };
}
