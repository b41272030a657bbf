import { effectivePoolReplicas } from "../../api/defaults.ts";
import { warmPoolSelector } from "../../api/names.ts";
import type { SandboxWarmPoolStatus } from "../../api/sandbox-warm-pool.ts";
import type { Happening } from "../../kube/event-recorder.ts";
import type { Census } from "./keep-up.ts";
import { isReady } from "./members.ts";
import type { Observed } from "./observed.ts";
import type { Resized } from "./resize.ts";
import type { WarmPoolSettings } from "./settings.ts";

export interface Ended {
  readonly observed: Pick<Observed, "pool" | "template">;
  /** As it was before the size of the pool was changed. */
  readonly census: Census;
  readonly resized: Resized;
  readonly wasNotProgressing: boolean;
  readonly settings: Pick<WarmPoolSettings, "readinessGraceMs" | "notProgressingRecheckMs">;
}

export interface Conclusion {
  readonly notProgressing: boolean;
  readonly happening?: Happening;
  /** When to look again although nothing has changed, in milliseconds. */
  readonly requeueAfterMs?: number;
}

/** What of a pass is worth an event, and when time alone will change something. */
export function conclude(ended: Ended, random: () => number = Math.random): Conclusion {
  const { observed, census, resized, settings } = ended;
  const obstacle = obstacleOf(ended);
  const told = happeningOf(ended, obstacle);
  const delaysMs = [
    resized.requeueAfterMs,
    // Members that were made together would be looked after together, for ever.
    census.overdueInMs !== undefined && census.overdueInMs * (1 + 0.5 * random()),
    obstacle !== undefined && settings.notProgressingRecheckMs,
  ].filter((delayMs) => typeof delayMs === "number");
  return {
    notProgressing: obstacle !== undefined,
    ...(told && { happening: { regarding: observed.pool, ...told } }),
    ...(delaysMs.length > 0 && { requeueAfterMs: Math.min(...delaysMs) }),
  };
}

/** What the status of a pool is to say, whatever is then done about its size. */
export const statusOf = ({ pool }: Ended["observed"], { active }: Census): SandboxWarmPoolStatus => ({
  replicas: active.length,
  readyReplicas: active.filter(isReady).length,
  selector: warmPoolSelector(pool.metadata.name),
  ...(pool.metadata.generation !== undefined && { observedGeneration: pool.metadata.generation }),
});

/** Why a pool gets no further, in words for its owner; undefined while it does. */
function obstacleOf({ observed: { pool, template }, census, settings }: Ended): string | undefined {
  const desired = effectivePoolReplicas(pool.spec);
  if (!template && desired > 0) {
    return `SandboxTemplate "${pool.spec.sandboxTemplateRef.name}" not found; no sandboxes are created until it exists`;
  }
  if (census.held === 0) return undefined;
  return (
    `${census.held}/${desired} sandboxes are unschedulable past the ${inWords(settings.readinessGraceMs)} readiness grace ` +
    "period; they are kept, not replaced, because their replacements could not be scheduled either"
  );
}

/** Only a change is worth telling: another obstacle in the place of one is none. */
function happeningOf({ wasNotProgressing }: Ended, obstacle: string | undefined): Told | undefined {
  if (wasNotProgressing === (obstacle !== undefined)) return undefined;
  return obstacle === undefined
    ? { type: "Normal", reason: "WarmPoolProgressing", action: "Reconciling", note: "Warm pool is progressing again" }
    : { type: "Warning", reason: "WarmPoolNotProgressing", action: "Reconciling", note: obstacle };
}

type Told = Omit<Happening, "regarding">;

/** A duration as it is written on a command line: `5m0s`, `10s`, `500ms`. */
function inWords(durationMs: number): string {
  if (durationMs < 1_000) return `${durationMs}ms`;
  const seconds = durationMs / 1_000;
  const parts = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60), seconds % 60];
  const first = parts.findIndex((part) => part > 0);
  return parts.map((part, at) => (at < first ? "" : `${part}${"hms"[at]}`)).join("");
}
