import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { isConditionTrue } from "../../api/rules/conditions.ts";
import { effectiveAutoResume, effectiveAutoSuspension, effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { sealOf } from "../../api/rules/suspension.ts";
import { readTime } from "../../api/rules/timestamps.ts";
import { isExpired } from "../sandbox/expiry.ts";
import { findPod } from "../sandbox/find-pod.ts";
import type { Observed } from "../sandbox/observed.ts";
import type { Rejection } from "../suspension/handshake/rejected-suspensions.ts";
import type { MemoryRefusal } from "../suspension/hibernation/memory-provider.ts";
import { refusalToSleep } from "../suspension/hibernation/strategy.ts";
import type { Use } from "./activity-view.ts";
import type { Instant } from "./instant.ts";
import type { PodStart, PodStarts } from "./pod-starts.ts";

/** Asked at a moment; all times without a unit of their own are in monotonic milliseconds. */
export interface IdleQuestion extends Instant {
  readonly sandbox: Stored<Sandbox>;
  readonly use: Use;
  /** To become Ready is its Pod's first activity. Undefined: it is exempt, or has no Pod, as after a wake. */
  readonly podStart: PodStart | undefined;
  /** Its turn after a disturbance, see `turnAfter`. */
  readonly notBeforeMs: number;
  /** Of the last attempt to suspend it; absent: none. */
  readonly rejection?: Rejection | undefined;
  /** Why its memory cannot be kept; absent: it can, or is not to be kept. */
  readonly memoryRefusal?: MemoryRefusal | undefined;
}

export type Idleness =
  /** Only a change of the sandbox or of its Pod can make it eligible for suspension for inactivity. */
  | { readonly is: "exempt"; readonly why: string }
  | {
      readonly is: "awake";
      readonly why: string;
      /** Time of the next check, unless an update arrives before. */
      readonly recheckAtMs: number;
      /** When it would be suspended as far as is known; in the past if something else blocks that. */
      readonly sleepsAtMs: number;
      readonly lastMs: number;
      /** Only this activator, which does not respond, blocks the suspension; absent: there are other reasons. */
      readonly blockedBy?: NonNullable<Use["unanswered"]>;
      readonly rejected?: string;
      /** It stays awake, because its memory cannot be kept. */
      readonly memoryRefusal?: MemoryRefusal;
    }
  /** `rejected`: why the last attempt to suspend it failed. */
  | { readonly is: "idle"; readonly forMs: number; readonly lastMs: number; readonly rejected?: string };

type Exemption = (sandbox: Stored<Sandbox>, now: Date) => string | undefined;

/** Reasons never to suspend a sandbox for inactivity. */
const exemptions: readonly Exemption[] = [
  ({ spec }) => (spec.autoSuspension?.inactivityTimeoutSeconds === undefined ? "it never sleeps by itself" : undefined),
  ({ metadata }) => (metadata.deletionTimestamp ? "it is being deleted" : undefined),
  (sandbox) => (effectiveOperatingMode(sandbox.spec) === "Suspended" ? "it is suspended" : undefined),
  (sandbox) => (sealOf(sandbox) ? "its former Pod is not gone yet" : undefined),
  ({ metadata }) => (metadata.labels?.[warmPoolSandboxLabel] ? "it is a member of a pool" : undefined),
  (sandbox, now) => (isExpired(sandbox, now) ? "it has expired" : undefined),
  ({ status }) => (isConditionTrue(status?.conditions, "Finished") ? "its Pod has ended" : undefined),
];

/** Interval between checks of a sandbox in use; the end of the use is usually reported before. */
const busyRecheckMs = 15_000;

/** Why a sandbox is never to be suspended for inactivity, whatever its Pod; undefined if it may be. */
function exemptionOf(sandbox: Stored<Sandbox>, now: Date): string | undefined {
  for (const exemption of exemptions) {
    const why = exemption(sandbox, now);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** The start of its idle time; undefined while it is exempt or has no Pod, after which its idle time starts anew. */
export function podStartOf(
  seen: Pick<Observed, "sandbox" | "pods">,
  at: Instant,
  starts: PodStarts,
): PodStart | undefined {
  const { sandbox } = seen;
  const found = findPod(seen);
  if (found.found === "owned" && exemptionOf(sandbox, at.now) === undefined) {
    return starts.startOf(sandbox, found.pod, at);
  }
  starts.exempt(sandbox.metadata.uid);
  return undefined;
}

/** Whether a sandbox has been idle for `inactivityTimeoutSeconds`. Pure. */
export function idlenessOf(question: IdleQuestion): Idleness {
  const { sandbox, use, podStart, now, nowMs } = question;
  const exemption = exemptionOf(sandbox, now);
  if (exemption !== undefined) return { is: "exempt", why: exemption };
  if (podStart === undefined) return { is: "exempt", why: "it has no Pod yet" };
  const known = asFarAsIsKnown(question, podStart);
  const memoryRefusal = refusalToSleep(sandbox, question.memoryRefusal);
  if (memoryRefusal) return awakeForMemory(known, memoryRefusal, nowMs);
  if (use.busy === undefined) return known.is === "idle" ? afterRejection(known, question) : known;
  const timeoutMs = (sandbox.spec.autoSuspension?.inactivityTimeoutSeconds ?? 0) * 1000;
  const recheckAtMs = nowMs + Math.max(Math.min(timeoutMs, busyRecheckMs), 1);
  const sleepsAtMs = known.is === "awake" ? known.sleepsAtMs : nowMs;
  const awake = { is: "awake", why: use.busy, recheckAtMs, sleepsAtMs, lastMs: known.lastMs } as const;
  return use.unanswered && known.is === "idle" ? { ...awake, blockedBy: use.unanswered } : awake;
}

/** Its owner would rather have it stay awake than lose its memory. A node that learns to keep memory changes no sandbox. */
function awakeForMemory(
  known: Exclude<Idleness, { is: "exempt" }>,
  memoryRefusal: MemoryRefusal,
  nowMs: number,
): Idleness {
  if (known.is === "awake") return { ...known, memoryRefusal };
  const why = "its memory cannot be kept";
  return {
    is: "awake",
    why,
    recheckAtMs: nowMs + busyRecheckMs,
    sleepsAtMs: nowMs,
    lastMs: known.lastMs,
    memoryRefusal,
  };
}

/** A rejected suspension is tried again later. */
function afterRejection(idle: Extract<Idleness, { is: "idle" }>, { rejection, nowMs }: IdleQuestion): Idleness {
  if (!rejection) return idle;
  const { message: rejected, untilMs } = rejection;
  if (untilMs <= nowMs) return { ...idle, rejected };
  const why = "its suspension was rejected";
  return { is: "awake", why, recheckAtMs: untilMs, sleepsAtMs: untilMs, lastMs: idle.lastMs, rejected };
}

/** Whether it would be idle without requests in flight. */
function asFarAsIsKnown(
  { sandbox, use, notBeforeMs, now, nowMs }: IdleQuestion,
  podStart: PodStart,
): Exclude<Idleness, { readonly is: "exempt" }> {
  const { inactivityTimeoutSeconds = 0, keepAwakeUntil } = effectiveAutoSuspension(sandbox.spec);
  const timeoutMs = inactivityTimeoutSeconds * 1000;
  const { seenMs, recordedMs } = podStart;
  const startedMs = podStart.readyMs ?? seenMs;
  // Controller and activators that restart together know only what the former leader has written.
  const lastMs = Math.max(use.lastMs ?? recordedMs ?? startedMs, startedMs);
  const keptUntil = readTime(keepAwakeUntil);
  const keptUntilMs = nowMs + (keptUntil ?? now).getTime() - now.getTime();
  const reasons = [
    { why: "it was used", untilMs: lastMs + timeoutMs },
    { why: "its Pod is starting", untilMs: startingUntilMs(sandbox, podStart, nowMs) },
    { why: `it is kept awake until ${keptUntil && keepAwakeUntil}`, untilMs: keptUntilMs },
    { why: "an activator has vanished", untilMs: use.unsettledUntilMs },
    { why: "it is not its turn", untilMs: notBeforeMs },
  ];
  const last = reasons.reduce((later, reason) => (reason.untilMs > later.untilMs ? reason : later));
  if (last.untilMs <= nowMs) return { is: "idle", forMs: nowMs - lastMs, lastMs };
  return { is: "awake", why: last.why, recheckAtMs: last.untilMs, sleepsAtMs: last.untilMs, lastMs };
}

/**
 * A sandbox that takes longer to start than it may be idle would be suspended before its first use. One that does not become
 * Ready is given as long as a connection would wait for it.
 */
function startingUntilMs({ spec }: Sandbox, { seenMs, readyMs }: PodStart, nowMs: number): number {
  if (readyMs !== undefined) return nowMs;
  const { inactivityTimeoutSeconds = 0 } = effectiveAutoSuspension(spec);
  return seenMs + Math.max(inactivityTimeoutSeconds, effectiveAutoResume(spec).timeoutSeconds) * 1_000;
}
