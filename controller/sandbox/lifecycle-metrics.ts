import { Counter, Histogram, type Registry } from "prom-client";
import { findCondition } from "../../api/conditions.ts";
import { effectiveShutdownPolicy } from "../../api/defaults.ts";
import { type Condition, keyOf } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Clock } from "../../lib/clock.ts";
import { launchType, lifecycleLabels, ownedBy, templateName } from "./metric-labels.ts";
import { SleepTimeMetrics } from "./sleep-time-metrics.ts";
import { becameUnready, type Passage, turnedTrue } from "./transitions.ts";

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

/** Counts and times what happens in the lives of sandboxes. It is told every pass and finds the turning points itself. */
export class LifecycleMetrics {
  readonly #clock: Clock;
  readonly #instruments: ReturnType<typeof createInstruments>;
  /** Suspensions and resumptions that are under way, by sandbox; lost with the process, and then not timed. */
  readonly #underWay = new Map<string, Begun>();
  /** Sandboxes that we have known from their first pass on and that have not been Ready yet. */
  readonly #newborn = new Set<string>();
  readonly #sleepTimes: SleepTimeMetrics;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    this.#instruments = createInstruments(registry);
    this.#sleepTimes = new SleepTimeMetrics(registry, clock);
  }

  passed(passage: Passage): void {
    const labels = lifecycleLabels(passage.sandbox);
    this.#modeChanged(passage, labels);
    const { finished, expired } = this.#instruments;
    if (turnedTrue(passage, "Finished")) {
      finished.inc({ ...labels, reason: findCondition(passage.after, "Finished")?.reason ?? "" });
    }
    if (becameUnready(passage, "SandboxExpired")) {
      expired.inc({ ...labels, shutdown_policy: effectiveShutdownPolicy(passage.sandbox.spec) });
    }
    this.#firstReady(passage);
    this.#sleepTimes.passed(passage);
  }

  /** The sandbox is gone: nothing of it is under way any longer. */
  forget(key: string): void {
    this.#underWay.delete(key);
    this.#newborn.delete(key);
  }

  #modeChanged(passage: Passage, labels: ReturnType<typeof lifecycleLabels>): void {
    const key = keyOf(passage.sandbox);
    const requested = requestedChange(passage);
    if (requested) {
      this.#underWay.set(key, { change: requested, sinceMs: this.#clock.ticksMs() });
      this.#instruments[requested].total.inc({ ...labels, result: "requested" });
    }
    const begun = this.#underWay.get(key);
    if (!begun) return;
    const { total, latency } = this.#instruments[begun.change];
    if (passage.failures.length > 0) total.inc({ ...labels, result: "error" });
    const result = reached(passage, begun.change);
    if (!result) return;
    total.inc({ ...labels, result });
    latency.observe(labels, this.#clock.ticksMs() - begun.sinceMs);
    this.#underWay.delete(key);
  }

  /** A claim times its sandbox itself, one from a pool too; only those that are nobody's are timed here. */
  #firstReady(passage: Passage): void {
    const { sandbox, before, after } = passage;
    const key = keyOf(sandbox);
    if (before.length === 0 && ownedBy(sandbox) === "None") this.#newborn.add(key);
    // The time that it slept is no time of making it.
    if (requestedChange(passage)) this.#newborn.delete(key);
    if (!turnedTrue(passage, "Ready") || !this.#newborn.delete(key)) return;
    const ready = findCondition(after, "Ready");
    if (ready) this.createdUntil(sandbox, ready);
  }

  /** Times the making of a sandbox, which ended when it became Ready. */
  createdUntil(sandbox: Sandbox, { lastTransitionTime }: Condition): void {
    const latencyMs = Date.parse(lastTransitionTime) - Date.parse(sandbox.metadata.creationTimestamp ?? "");
    if (!(latencyMs >= 0)) return;
    this.#instruments.creation.observe(
      {
        namespace: sandbox.metadata.namespace ?? "",
        launch_type: launchType(sandbox),
        sandbox_template: templateName(sandbox) ?? "__unknown__",
      },
      latencyMs,
    );
  }
}

/** Which change of mode this pass was the first to see. A sandbox that was made suspended asked for none. */
function requestedChange({ before, after }: Passage): Change | undefined {
  const was = findCondition(before, "Suspended")?.reason;
  const is = findCondition(after, "Suspended")?.reason;
  if (was === undefined || (was === "NotSuspended") === (is === "NotSuspended")) return undefined;
  return was === "NotSuspended" ? "suspend" : "resume";
}

function reached(passage: Passage, change: Change): "pod_terminated" | "ready" | undefined {
  if (change === "suspend") return turnedTrue(passage, "Suspended") ? "pod_terminated" : undefined;
  return turnedTrue(passage, "Ready") ? "ready" : undefined;
}

function createInstruments(registry: Registry) {
  const registers = [registry];
  const counter = (name: string, help: string, label: string) =>
    new Counter({ name, help, labelNames: [...common, label], registers });
  const latency = (name: string, help: string, labelNames = common) =>
    new Histogram({ name, help, labelNames, buckets: latencyBucketsMs, registers });
  return {
    suspend: {
      total: counter("agent_sandbox_suspend_total", "Suspensions, by how far they came.", "result"),
      latency: latency("agent_sandbox_suspend_latency_ms", "From seeing the wish to suspend to the Pod's end, in ms."),
    },
    resume: {
      total: counter("agent_sandbox_resume_total", "Resumptions, by how far they came.", "result"),
      latency: latency("agent_sandbox_resume_latency_ms", "From seeing the wish to resume to Ready, in ms."),
    },
    finished: counter("agent_sandbox_finished_total", "Sandboxes whose Pod has ended, by how.", "reason"),
    expired: counter("agent_sandbox_expired_total", "Sandboxes whose time was over, by policy.", "shutdown_policy"),
    creation: latency("agent_sandbox_creation_latency_ms", "From the Sandbox's creation to its first Ready, in ms.", [
      "namespace",
      "launch_type",
      "sandbox_template",
    ]),
  };
}
