import { keyOf, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, type SandboxStatus, sandboxType } from "../../api/kinds/sandbox.ts";
import { podNameAnnotation, traceContextAnnotation } from "../../api/rules/keys.ts";
import { isNotFound, isRejected } from "../../kube/client/errors.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Notes } from "../../kube/notes/notes.ts";
import { SlowRetries } from "../../lib/queues/slow-retries.ts";
import type { Outcome } from "../../lib/queues/workers.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Span } from "../../lib/tracing/tracer.ts";
import type { ActivityTimesKeeper } from "../idle/times/use-times.ts";
import { patchOfSame } from "../merge-patch.ts";
import type { Suspender, SuspensionProgress } from "../suspension/handshake/suspender.ts";
import type { PortShortages } from "../tcp-front/port-shortages.ts";
import type { PolicyGate } from "../template/policy-gate.ts";
import { contextToWrite, type Traces } from "../traces.ts";
import type { Failure } from "./actions.ts";
import { type Applied, apply } from "./apply/apply.ts";
import type { SandboxWriters } from "./apply/sandbox-writers.ts";
import { type Decision, decide } from "./decide.ts";
import { mayCreatePod } from "./decide-pod.ts";
import { eventsOf, type StatusTransition } from "./events.ts";
import { isExpired } from "./expiry.ts";
import type { LifecycleMetrics } from "./metrics/lifecycle-metrics.ts";
import { observe, type SandboxViews } from "./observe.ts";
import type { Observed } from "./observed.ts";
import { sandboxAttributes, tracePass } from "./pass-trace.ts";
import { areRejected, earliest, nextPass, throwWhatMayPass } from "./queue/pass-end.ts";
import { conclude, timesWithoutSuspension } from "./status/conclude.ts";
import { expiredFact } from "./status/condition-facts.ts";
import { deferStatusMs, mayDeferStatus } from "./status/defer-status.ts";
import { DeferredWrites } from "./status/deferred-writes.ts";
import { ErrorTexts } from "./status/error-texts.ts";
import { patchStatus } from "./status/patch-status.ts";
import { statusPatch } from "./status/status-patch.ts";
import { isLowPriority } from "./write-priority.ts";

export interface SandboxReconcilerOptions {
  readonly views: SandboxViews;
  readonly writers: SandboxWriters;
  /** The same, for writes that no user waits for. */
  readonly unhurried: SandboxWriters;
  /** Absent: events are disabled. */
  readonly events: EventRecorder | undefined;
  readonly metrics: LifecycleMetrics;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly clusterDomain: string;
  /** How long a change of a Pod's metadata alone may be deferred; 0 writes it at once. */
  readonly writeBehindWindowMs: number;
  readonly suspender: Suspender;
  readonly hasActivators: boolean;
  /** Absent when suspension for inactivity is not configured. */
  readonly activity: ActivityTimesKeeper | undefined;
  readonly portShortages: PortShortages;
  /** Absent: no templates are reconciled, and no Pod waits for their policies. */
  readonly policyGate: PolicyGate | undefined;
  readonly notes: Notes;
}

/** Reconciles one sandbox at a time. */
export class SandboxReconciler {
  readonly #options: SandboxReconcilerOptions;
  /** Deferred changes of Pod metadata. */
  readonly #metadata: DeferredWrites;
  /** Deferred status writes. */
  readonly #notYet: DeferredWrites;
  /** Of children that the API server has rejected. */
  readonly #rejected: SlowRetries;
  readonly #errorTexts: ErrorTexts;

  constructor(options: SandboxReconcilerOptions) {
    this.#options = options;
    this.#metadata = new DeferredWrites(options.clock);
    this.#notYet = new DeferredWrites(options.clock);
    this.#rejected = new SlowRetries(options.clock);
    this.#errorTexts = new ErrorTexts(options.clock, expiredFact);
  }

  /** @throws AggregateError when a step failed that may succeed at a retry. */
  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const { traces, views } = this.#options;
    const sandbox = views.sandboxes.get(key);
    if (!sandbox) return this.#forget(key);
    return traces.during("ReconcileSandbox", sandbox, sandboxAttributes, async (span) => {
      let unwritten: unknown;
      const noteAgainMs = await this.#writeTraceContext(sandbox, span, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        unwritten = error;
        return undefined;
      });
      const outcome = await this.#pass(key, span, signal);
      if (unwritten !== undefined && !isNotFound(unwritten)) throw unwritten;
      return outcome.isInterrupted ? outcome : { ...outcome, ...earliest(outcome.requeueAfterMs, noteAgainMs) };
    });
  }

  async #pass(key: string, span: Span, signal: AbortSignal): Promise<Outcome> {
    const { standing, unable } = await this.#suspend(key, signal);
    // No worker waits for activators. Nothing is done or reported until they have answered.
    if (standing.is === "asking") return { isInterrupted: true };
    const seen = this.#observe(key, standing);
    if (!seen) return this.#forget(key);
    const { actedOn, decision, applied: done } = await this.#bringInLine(seen, standing, span, signal);
    const { noteAgainMs, failures } = this.#reportNotes(seen.sandbox, decision, done.failures);
    const applied = { ...done, failures: [...unable, ...failures] };
    const after = this.#observe(key, standing);
    if (!after || after.sandbox.metadata.uid !== seen.sandbox.metadata.uid) return this.#forget(key);

    this.#metadata.note(key, decision.putOffMs !== undefined);
    const sandbox = asActedOn(after.sandbox, actedOn);
    const { clusterDomain, activity, suspender, portShortages } = this.#options;
    const { status, recheckAfterMs } = conclude({
      course: decision.course,
      observed: { ...after, sandbox, suspending: suspender.isPending({ ...after, sandbox }, standing) },
      failures: applied.failures,
      clusterDomain,
      activityTimes: activity ? activity.timesToWrite(sandbox) : timesWithoutSuspension(sandbox.status ?? {}),
      blockedSuspension: activity?.blockedSuspension(sandbox),
      portShortage: portShortages.factOf(sandbox),
      unfinished: applied.unfinished,
    });
    const statusPutOffMs = this.#putOff(sandbox, status) ?? this.#errorTexts.deferMs(key, sandbox.status, status);
    const { isGone = false, unwritten } =
      statusPutOffMs === undefined ? await this.#write(sandbox, status, after, signal) : { unwritten: [] };
    // A status is reported in events and metrics when it is written; what this pass did, in any case.
    const isWritten = statusPutOffMs === undefined && unwritten.length === 0 && !isGone;
    this.#report({ ...after, sandbox }, isWritten ? status : (sandbox.status ?? {}), applied);
    if (isGone) return this.#forget(key);
    throwWhatMayPass(applied.failures, unwritten);
    return nextPass(applied.failures, [
      recheckAfterMs,
      decision.putOffMs,
      statusPutOffMs,
      standing.is === "underWay" ? standing.recheckAfterMs : undefined,
      applied.clashed ? clashRecheckMs : undefined,
      applied.unfinished ? 0 : undefined,
      applied.createInMs,
      noteAgainMs,
      this.#rejected.afterPass(key, sandbox.metadata, areRejected(applied.failures)),
    ]);
  }

  /** A blocked handshake is a failure like any other: the pass continues, and the status reports it. */
  async #suspend(key: string, signal: AbortSignal): Promise<Handshake> {
    try {
      return { standing: await this.#options.suspender.suspend(() => this.#observe(key), signal), unable: [] };
    } catch (cause) {
      signal.throwIfAborted();
      const message = cause instanceof Error ? cause.message : String(cause);
      const unable: Failure = { action: { do: "suspend" }, message, retry: "soon", cause };
      return { standing: { is: "underWay", recheckAfterMs: undefined }, unable: [unable] };
    }
  }

  #observe(key: string, standing: SuspensionProgress = { is: "none" }): Observed | undefined {
    const { views, clock, suspender, hasActivators, writeBehindWindowMs, policyGate } = this.#options;
    const now = clock.now();
    // An expired sandbox loses all its Pods.
    const seen = observe(key, views, (sandbox) => isExpired(sandbox, now));
    if (!seen) return undefined;
    const suspending = suspender.isPending(seen, standing);
    const writeBehind = { windowMs: writeBehindWindowMs, waitedMs: this.#metadata.waitedMs(key) };
    const policyGap = mayCreatePod(seen) ? policyGate?.gapOf(seen.sandbox) : undefined;
    return { ...seen, now, writeBehind, hasActivators, policyGap, suspending };
  }

  #writersFor(seen: Observed): SandboxWriters {
    const { writers, unhurried } = this.#options;
    return isLowPriority(seen) ? unhurried : writers;
  }

  /** If a child turns out to exist already, observe and decide again with this child in view. */
  async #bringInLine(first: Observed, standing: SuspensionProgress, span: Span, signal: AbortSignal): Promise<Round> {
    const writers = this.#writersFor(first);
    let seen = first;
    let podCreated = false;
    let rejection: string | undefined;
    for (let round = 1; ; round += 1) {
      const decision = decide(seen);
      const { sandbox } = seen;
      const trace = tracePass(span, sandbox, writers.pods);
      const applied = await apply(
        this.#withoutOwedNote(sandbox, decision.actions),
        { sandbox, trace },
        writers,
        signal,
      );
      podCreated ||= applied.podCreated;
      rejection ??= applied.rejection;
      const isWorthARound = applied.clashed && !applied.unfinished && round < roundsMax;
      const again = isWorthARound ? this.#observe(keyOf(sandbox), standing) : undefined;
      if (!again) return { actedOn: sandbox, decision, applied: { ...applied, podCreated, rejection } };
      seen = again;
    }
  }

  /** Returns the milliseconds until it is to be tried again, if it was rejected. */
  async #writeTraceContext(sandbox: Stored<Sandbox>, span: Span, signal: AbortSignal): Promise<number | undefined> {
    const context = contextToWrite(sandbox, span);
    if (context === undefined || sandbox.metadata.deletionTimestamp) return undefined;
    const { client, sandboxes } = this.#options.writers;
    const { namespace, name } = sandbox.metadata;
    const body = { metadata: { annotations: { [traceContextAnnotation]: context } } };
    const call = () => client.patch(sandboxType, { namespace, name }, patchOfSame(sandbox, body), {}, signal);
    const write = () => sandboxes.patch(sandbox, body, call);
    return this.#options.notes.write(sandbox, traceContextAnnotation, write);
  }

  /** The recorded name of the Pod only informs. Its rejection is reported as such, and the rest are those of the sandbox. */
  #reportNotes(sandbox: Stored<Sandbox>, { actions }: Decision, all: readonly Failure[]) {
    const { notes } = this.#options;
    const isNote = ({ action, cause }: Failure) => action.do === "recordPodName" && isRejected(cause);
    const failures = all.filter((failure) => !isNote(failure));
    const cause = all.find(isNote)?.cause;
    if (isRejected(cause)) return { noteAgainMs: notes.rejected(sandbox, podNameAnnotation, cause), failures };
    const isOwed = actions.some((action) => action.do === "recordPodName");
    const waitMs = isOwed ? notes.waitMs(sandbox, podNameAnnotation) : 0;
    if (waitMs === 0) notes.written(sandbox, podNameAnnotation);
    return { noteAgainMs: waitMs || undefined, failures };
  }

  /** A name that the API server would reject is not written. A wrong one can always be removed. */
  #withoutOwedNote(sandbox: Stored<Sandbox>, actions: Decision["actions"]): Decision["actions"] {
    if (this.#options.notes.waitMs(sandbox, podNameAnnotation) === 0) return actions;
    return actions.filter((action) => action.do !== "recordPodName" || action.name === undefined);
  }

  /** Milliseconds for which a status may be deferred; undefined: write it now. */
  #putOff(sandbox: Stored<Sandbox>, status: SandboxStatus): number | undefined {
    const key = keyOf(sandbox);
    const windowMs = deferStatusMs(sandbox);
    const waitedMs = this.#notYet.waitedMs(key) ?? 0;
    const putOff = mayDeferStatus(sandbox.status, status) && waitedMs < windowMs;
    const isNews = putOff && statusPatch(sandbox.status, status) !== undefined;
    this.#notYet.note(key, isNews);
    return isNews ? windowMs - waitedMs : undefined;
  }

  /** Writes the status if it has changed. A sandbox that is gone needs no status. */
  async #write(
    sandbox: Stored<Sandbox>,
    status: SandboxStatus,
    seen: Observed,
    signal: AbortSignal,
  ): Promise<{ readonly isGone?: boolean; readonly unwritten: readonly unknown[] }> {
    const patch = statusPatch(sandbox.status, status);
    if (!patch) return { unwritten: [] };
    const { client, sandboxes: store } = this.#writersFor(seen);
    try {
      const result = await patchStatus(sandbox, patch, { client, type: sandboxType, store, signal });
      return { isGone: result === "gone", unwritten: [] };
    } catch (error) {
      signal.throwIfAborted();
      return { unwritten: [error] };
    }
  }

  #report({ sandbox, memoryRefusal }: Observed, status: SandboxStatus, applied: Applied): void {
    const { events, metrics } = this.#options;
    const before = sandbox.status?.conditions ?? [];
    const { conditions: after = [], hibernation } = status;
    const transition: StatusTransition = { ...applied, sandbox, before, after, hibernation, memoryRefusal };
    for (const happening of eventsOf(transition)) events?.record(happening);
    metrics.passed(transition);
  }

  #forget(key: string): Outcome {
    this.#metadata.note(key, false);
    this.#notYet.note(key, false);
    this.#rejected.forget(key);
    this.#errorTexts.forget(key);
    this.#options.metrics.forget(key);
    return {};
  }
}

interface Handshake {
  readonly standing: SuspensionProgress;
  readonly unable: readonly Failure[];
}

interface Round {
  readonly actedOn: Stored<Sandbox>;
  readonly decision: Decision;
  readonly applied: Applied;
}

/** The conditions report the generation that this pass acted on. A newer generation is in the queue already. */
const asActedOn = (now: Stored<Sandbox>, { spec, metadata }: Stored<Sandbox>): Stored<Sandbox> => ({
  ...now,
  spec,
  metadata: { ...now.metadata, ...(metadata.generation !== undefined && { generation: metadata.generation }) },
});

// Each round reveals at least one hidden child; the kinds of children are volume claim, Pod and Service.
const roundsMax = 3;
/** Milliseconds until the next attempt when every round met a change. */
const clashRecheckMs = 1_000;
