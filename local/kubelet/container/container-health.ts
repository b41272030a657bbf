import type { Probe } from "../../../api/kinds/core.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { type ActionTarget, perform } from "./container-actions.ts";
import { beginProbe, type ProbeKind, probeTimings, stepProbe } from "./probe-schedule.ts";

export interface HealthReport {
  /** The startup probe has passed, or is not configured. */
  started(): void;
  ready(ready: boolean): void;
  /** A probe requires a restart of the container. */
  hopeless(kind: ProbeKind, probe: Probe): void;
  /** A counted attempt has failed. */
  failed(kind: ProbeKind, message: string): void;
}

export interface HealthOptions {
  readonly clock: Clock;
  readonly target: ActionTarget;
  readonly report: HealthReport;
  /** Awaited before a success is reported: the response may come from another program that listens on every address. */
  readonly checkAddresses: () => Promise<void>;
}

/** Runs the probes of one run of a container until aborted: first the startup probe, then the two others together. */
export async function watchHealth(options: HealthOptions, signal: AbortSignal): Promise<void> {
  const { report, target } = options;
  const { startupProbe, readinessProbe, livenessProbe } = target.container;
  if (startupProbe) await runProbe("Startup", startupProbe, { ...options, untilPassed: true }, signal);
  if (signal.aborted) return;
  report.started();
  if (!readinessProbe) report.ready(true);
  await Promise.all([
    readinessProbe && runProbe("Readiness", readinessProbe, options, signal),
    livenessProbe && runProbe("Liveness", livenessProbe, options, signal),
  ]);
}

async function runProbe(
  kind: ProbeKind,
  probe: Probe,
  { clock, target, report, checkAddresses, untilPassed = false }: HealthOptions & { readonly untilPassed?: boolean },
  signal: AbortSignal,
): Promise<void> {
  const timings = probeTimings(kind, probe);
  await pause(clock, timings.initialDelayMs, signal);
  let progress = beginProbe(timings, clock.ticksMs());
  while (!signal.aborted) {
    const begunMs = clock.ticksMs();
    const { passed, message } = await perform(probe, target, { clock, timeoutMs: timings.timeoutMs, signal });
    if (passed) await checkAddresses();
    if (signal.aborted) return;
    const step = stepProbe(progress, timings, { passed, begunMs, nowMs: clock.ticksMs() });
    progress = step.progress;
    if (step.counted && !passed) report.failed(kind, message);
    if (step.verdict) reportVerdict(kind, probe, step.verdict === "passed", report);
    if (untilPassed && step.verdict === "passed") return;
    await pause(clock, step.nextInMs, signal);
  }
}

function reportVerdict(kind: ProbeKind, probe: Probe, passed: boolean, report: HealthReport): void {
  if (kind === "Readiness") report.ready(passed);
  else if (!passed) report.hopeless(kind, probe);
}

function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  // The loop checks the signal, so an abort needs no error.
  return delayMs > 0 ? clock.sleep(delayMs, signal).catch(() => {}) : Promise.resolve();
}
