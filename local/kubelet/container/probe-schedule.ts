import type { Probe } from "../../../api/kinds/core.ts";

export type ProbeKind = "Startup" | "Readiness" | "Liveness";

export interface ProbeTimings {
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
  /** Whether extra attempts are made between the counted ones until the first success. */
  readonly eager: boolean;
  /** From the first attempt to the first counted one. */
  readonly countedAfterMs: number;
}

/**
 * The timings of a probe with the API's defaults.
 *
 * After a failed readiness probe a kubelet waits for a whole period, 10 s by default. Here a probe is only a connection
 * on the same machine, so a readiness or startup probe over the network is repeated in small steps until its first
 * success. Those extra attempts may pass, but never count as failures.
 */
export function probeTimings(kind: ProbeKind, probe: Probe): ProbeTimings {
  const { successThreshold = 1, failureThreshold = 3 } = probe;
  const periodMs = (probe.periodSeconds ?? 10) * 1000;
  const eager = kind !== "Liveness" && successThreshold === 1 && !probe.exec;
  return {
    initialDelayMs: (probe.initialDelaySeconds ?? 0) * 1000,
    periodMs,
    timeoutMs: (probe.timeoutSeconds ?? 1) * 1000,
    successThreshold,
    failureThreshold,
    eager,
    // A program needs a moment to start. An early failure is not worth an event and has no effect.
    countedAfterMs: eager && kind === "Readiness" ? periodMs : 0,
  };
}

/** The state of a probe. */
export interface ProbeProgress {
  readonly nextCountedMs: number;
  /** Length of the next small step; undefined after the last one. */
  readonly eagerStepMs: number | undefined;
  readonly passed: boolean;
  /** The number of equal counted results in a row. */
  readonly alike: number;
}

const firstStepMs = 20;
const longestStepMs = 1_000;

export function beginProbe(timings: ProbeTimings, nowMs: number): ProbeProgress {
  return {
    nextCountedMs: nowMs + timings.countedAfterMs,
    eagerStepMs: timings.eager ? firstStepMs : undefined,
    passed: false,
    alike: 0,
  };
}

export interface ProbeStep {
  readonly progress: ProbeProgress;
  /** The result by the thresholds; undefined while they are not reached. */
  readonly verdict: "passed" | "failed" | undefined;
  /** Whether this attempt was one that counts. */
  readonly counted: boolean;
  readonly nextInMs: number;
}

/** The state after an attempt that began at `begunMs` and ended at `nowMs`. */
export function stepProbe(
  progress: ProbeProgress,
  timings: ProbeTimings,
  attempt: { readonly passed: boolean; readonly begunMs: number; readonly nowMs: number },
): ProbeStep {
  const { passed, begunMs, nowMs } = attempt;
  const due = begunMs >= progress.nextCountedMs;
  const counted = due || passed;
  const nextCountedMs = counted ? begunMs + timings.periodMs : progress.nextCountedMs;
  const alike = counted ? (passed === progress.passed ? progress.alike : 0) + 1 : progress.alike;
  const stepMs = passed ? undefined : progress.eagerStepMs;
  const threshold = passed ? timings.successThreshold : timings.failureThreshold;
  return {
    progress: {
      nextCountedMs,
      eagerStepMs: stepMs && Math.min(stepMs * 2, longestStepMs),
      passed: counted ? passed : progress.passed,
      alike,
    },
    verdict: counted && alike >= threshold ? (passed ? "passed" : "failed") : undefined,
    counted,
    nextInMs: Math.max(Math.min(nextCountedMs - nowMs, stepMs ?? Number.POSITIVE_INFINITY), 0),
  };
}
