import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxWarmPoolStatus } from "../../../api/kinds/sandbox-warm-pool.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { effectivePoolReplicas } from "../../../api/rules/defaults.ts";
import { warmPoolSelector } from "../../../api/rules/names.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { NewEvent } from "../../../kube/events/event-recorder.ts";
import { isReady } from "../members.ts";
import type { Observed } from "../observed.ts";
import type { Census } from "../reconcile-members.ts";
import type { Resized } from "../resize/resize.ts";
import type { WarmPoolSettings } from "../settings.ts";
import type { ReadinessPatience } from "./readiness-patience.ts";

export interface Ended {
  readonly observed: Pick<Observed, "pool" | "template" | "policyGap" | "now">;
  /** As it was before the size of the pool was changed. */
  readonly census: Census;
  readonly resized: Resized;
  readonly wasNotProgressing: boolean;
  /** For how long the template has had no network policy in place; 0 where it has. */
  readonly gapMs: number;
  readonly patience: Pick<ReadinessPatience, "failures" | "graceMs">;
  readonly settings: Pick<WarmPoolSettings, "readinessGraceMs" | "notProgressingRecheckMs">;
}

export interface Conclusion {
  readonly notProgressing: boolean;
  readonly happening?: NewEvent;
  /** When to reconcile again although nothing has changed, in milliseconds. */
  readonly requeueAfterMs?: number;
}

/** The event of a pass, if any, and when time alone will change something. */
export function conclude(ended: Ended, random: () => number = Math.random): Conclusion {
  const { observed, census, resized, settings } = ended;
  const { inMs: refusalInMs } = refusalOf(census.active, observed.now);
  const obstacle = obstacleOf(ended);
  const content = happeningOf(ended, obstacle);
  const delaysMs = [
    resized.requeueAfterMs,
    // Members that were created together would be checked together, for ever.
    census.overdueInMs !== undefined && census.overdueInMs * (1 + 0.5 * random()),
    refusalInMs,
    census.unfinished && nextBatchMs,
    observed.policyGap !== undefined && ended.gapMs < passingGapMs && passingGapMs - ended.gapMs,
    obstacle !== undefined && settings.notProgressingRecheckMs,
  ].filter((delayMs) => typeof delayMs === "number");
  return {
    notProgressing: obstacle !== undefined,
    ...(content && { happening: { regarding: observed.pool, ...content } }),
    ...(delaysMs.length > 0 && { requeueAfterMs: Math.min(...delaysMs) }),
  };
}

/** What the status of a pool is to say, whatever is then done about its size. */
export const statusOf = ({ pool }: Pick<Observed, "pool">, { active }: Census): SandboxWarmPoolStatus => ({
  replicas: active.length,
  readyReplicas: active.filter(isReady).length,
  selector: warmPoolSelector(pool.metadata.name),
  ...(pool.metadata.generation !== undefined && { observedGeneration: pool.metadata.generation }),
});

/** Why a pool gets no further, in words for its owner; undefined while it does. */
function obstacleOf({
  observed: { pool, template, policyGap, now },
  census,
  patience,
  settings,
  gapMs,
}: Ended): string | undefined {
  const desired = effectivePoolReplicas(pool.spec);
  if (!template && desired > 0) {
    return `SandboxTemplate "${pool.spec.sandboxTemplateRef.name}" not found; no sandboxes are created until it exists`;
  }
  if (policyGap !== undefined && census.active.length < desired && gapMs >= passingGapMs) return policyGap;
  const { count, message } = refusalOf(census.active, now);
  if (count > 0) return `${count}/${desired} sandboxes cannot start: ${message}`;
  if (patience.failures > 0 && census.active.filter(isReady).length < desired) {
    const times = patience.failures === 1 ? "once" : `${patience.failures} times in a row`;
    return (
      `sandboxes did not become ready in time and were replaced, ${times}; ` +
      `the next are replaced after ${inWords(patience.graceMs)}, or when the template changes`
    );
  }
  if (census.held === 0) return undefined;
  return (
    `${census.held}/${desired} sandboxes are unschedulable past the ${inWords(settings.readinessGraceMs)} readiness grace ` +
    "period; they are kept, not replaced, because their replacements could not be scheduled either"
  );
}

/** The next batch begins as soon as a watch shows a write of this one; at the latest after this time. */
const nextBatchMs = 1_000;

/** A policy is written within moments of its template. A longer absence is reported. */
const passingGapMs = 2_000;

const refusals: readonly string[] = ["InvalidConfiguration", "ReconcilerError"];
/** A refusal may be over at the next try. A longer one is reported. */
const passingMs = 5_000;
const messageMax = 300;

interface Refusal {
  readonly count: number;
  /** Of the first, and no more of it than is read. */
  readonly message: string;
  /** When the next one will have lasted long enough to be reported, in milliseconds. */
  readonly inMs?: number;
}

/** Members whose own status reports a rejected object that they cannot start without. */
function refusalOf(active: readonly Stored<Sandbox>[], now: Date): Refusal {
  const ages = active.flatMap(({ status }) => {
    const ready = findCondition(status?.conditions, "Ready");
    if (ready?.status !== "False" || !refusals.includes(ready.reason)) return [];
    // Without a readable time nothing says that it is recent.
    const since = readTime(ready.lastTransitionTime);
    return [{ ageMs: since ? now.getTime() - since.getTime() : passingMs, message: ready.message }];
  });
  const lasting = ages.filter(({ ageMs }) => ageMs >= passingMs);
  const passing = ages.filter(({ ageMs }) => ageMs < passingMs).map(({ ageMs }) => passingMs - ageMs);
  return {
    count: lasting.length,
    message: (lasting[0]?.message ?? "").slice(0, messageMax),
    ...(lasting.length === 0 && passing.length > 0 && { inMs: Math.min(...passing) }),
  };
}

/** Only a change is reported; another obstacle in place of the first is no change. */
function happeningOf({ wasNotProgressing }: Ended, obstacle: string | undefined): EventContent | undefined {
  if (wasNotProgressing === (obstacle !== undefined)) return undefined;
  return obstacle === undefined
    ? { type: "Normal", reason: "WarmPoolProgressing", action: "Reconciling", note: "Warm pool is progressing again" }
    : { type: "Warning", reason: "WarmPoolNotProgressing", action: "Reconciling", note: obstacle };
}

type EventContent = Omit<NewEvent, "regarding">;

/** A duration as it is written on a command line: `5m0s`, `10s`, `500ms`. */
function inWords(durationMs: number): string {
  if (durationMs < 1_000) return `${durationMs}ms`;
  const seconds = durationMs / 1_000;
  const parts = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60), seconds % 60];
  const first = parts.findIndex((part) => part > 0);
  return parts.map((part, at) => (at < first ? "" : `${part}${"hms"[at]}`)).join("");
}
