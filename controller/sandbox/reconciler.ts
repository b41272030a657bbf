import { traceContextAnnotation } from "../../api/keys.ts";
import { keyOf, type Stored } from "../../api/meta.ts";
import { type Sandbox, type SandboxStatus, sandboxType } from "../../api/sandbox.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Span } from "../../lib/tracing/tracer.ts";
import type { Outcome } from "../../lib/workers.ts";
import type { Standing, Suspender } from "../suspension/suspender.ts";
import type { ActivityTimesKeeper } from "../suspension/use-times.ts";
import { contextToWrite, type Traces } from "../traces.ts";
import type { Failure } from "./actions.ts";
import { type Applied, apply, type SandboxWriters } from "./apply.ts";
import { conclude } from "./conclude.ts";
import { type Decision, decide } from "./decide.ts";
import { nobodyWaitsFor } from "./haste.ts";
import type { LifecycleMetrics } from "./lifecycle-metrics.ts";
import { notYetWindowMs, saysOnlyNotYet } from "./not-yet.ts";
import { observe, type SandboxViews } from "./observe.ts";
import type { Observed } from "./observed.ts";
import { sandboxAttributes, tracePass } from "./pass-trace.ts";
import { PutOffs } from "./put-offs.ts";
import { statusPatch } from "./status-patch.ts";
import { happeningsOf, type Passage } from "./transitions.ts";

export interface SandboxReconcilerOptions {
  readonly views: SandboxViews;
  readonly writers: SandboxWriters;
  /** The same, for what nobody waits for. */
  readonly unhurried: SandboxWriters;
  /** Absent: events are switched off. */
  readonly events: EventRecorder | undefined;
  readonly metrics: LifecycleMetrics;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly clusterDomain: string;
  /** How long a change of a Pod's metadata alone may wait; 0 writes it at once. */
  readonly writeBehindWindowMs: number;
  readonly suspender: Suspender;
  readonly hasActivators: boolean;
  /** Absent where nothing sleeps by itself. */
  readonly activity: ActivityTimesKeeper | undefined;
}

/** Brings one sandbox at a time in line with what its object asks for. */
export class SandboxReconciler {
  readonly #options: SandboxReconcilerOptions;
  /** Changes of a Pod's metadata that were put off. */
  readonly #metadata: PutOffs;
  /** Statuses that were. */
  readonly #notYet: PutOffs;

  constructor(options: SandboxReconcilerOptions) {
    this.#options = options;
    this.#metadata = new PutOffs(options.clock);
    this.#notYet = new PutOffs(options.clock);
  }

  /** @throws AggregateError when something failed that may work the next time. */
  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const { traces, views } = this.#options;
    const sandbox = views.sandboxes.get(key);
    if (!sandbox) return this.#forget(key);
    return traces.during("ReconcileSandbox", sandbox, sandboxAttributes, async (span) => {
      await this.#writeTraceContext(sandbox, span, signal);
      return this.#pass(key, span, signal);
    });
  }

  async #pass(key: string, span: Span, signal: AbortSignal): Promise<Outcome> {
    const standing = await this.#options.suspender.suspend(() => this.#observe(key), signal);
    const seen = this.#observe(key, standing);
    if (!seen) return this.#forget(key);
    const { actedOn, decision, applied } = await this.#bringInLine(seen, standing, span, signal);
    const after = this.#observe(key, standing);
    if (!after || after.sandbox.metadata.uid !== seen.sandbox.metadata.uid) return this.#forget(key);

    this.#metadata.note(key, decision.putOffMs !== undefined);
    const sandbox = asActedOn(after.sandbox, actedOn);
    const { clusterDomain, activity, suspender } = this.#options;
    const { status, recheckAfterMs } = conclude({
      course: decision.course,
      observed: { ...after, sandbox, suspending: suspender.isPending({ ...after, sandbox }, standing) },
      failures: applied.failures,
      clusterDomain,
      activityTimes: activity?.timesToWrite(sandbox),
    });
    const statusPutOffMs = this.#putOff(sandbox, status);
    const { client } = this.#writersFor(after);
    const unwritten = statusPutOffMs === undefined ? await this.#write(sandbox, status, client, signal) : [];
    // Of a status that waits nothing is told yet; it is told when it is written.
    const told = statusPutOffMs === undefined ? status : (sandbox.status ?? {});
    if (unwritten.length === 0) this.#tell(sandbox, told, applied);
    throwWhatMayPass(applied.failures, unwritten);
    return earliest(
      recheckAfterMs,
      decision.putOffMs,
      statusPutOffMs,
      standing.is === "underWay" ? standing.recheckAfterMs : undefined,
    );
  }

  #observe(key: string, standing: Standing = { is: "none" }): Observed | undefined {
    const { views, clock, suspender, hasActivators, writeBehindWindowMs } = this.#options;
    const seen = observe(key, views);
    if (!seen) return undefined;
    const suspending = suspender.isPending(seen, standing);
    const writeBehind = { windowMs: writeBehindWindowMs, waitedMs: this.#metadata.waitedMs(key) };
    return { ...seen, now: clock.now(), writeBehind, hasActivators, suspending };
  }

  #writersFor(seen: Observed): SandboxWriters {
    const { writers, unhurried } = this.#options;
    return nobodyWaitsFor(seen) ? unhurried : writers;
  }

  /** A child that turned out to be there already makes us look and decide once more, with it in view. */
  async #bringInLine(first: Observed, standing: Standing, span: Span, signal: AbortSignal): Promise<Round> {
    const writers = this.#writersFor(first);
    let seen = first;
    let podCreated = false;
    for (let round = 1; ; round += 1) {
      const decision = decide(seen);
      const { sandbox } = seen;
      const trace = tracePass(span, sandbox, writers.pods);
      const applied = await apply(decision.actions, { sandbox, trace }, writers, signal);
      podCreated ||= applied.podCreated;
      const again = applied.clashed && round < roundsMax ? this.#observe(keyOf(sandbox), standing) : undefined;
      if (!again) return { actedOn: sandbox, decision, applied: { ...applied, podCreated } };
      seen = again;
    }
  }

  async #writeTraceContext(sandbox: Stored<Sandbox>, span: Span, signal: AbortSignal): Promise<void> {
    const context = contextToWrite(sandbox, span);
    if (context === undefined || sandbox.metadata.deletionTimestamp) return;
    const { client, sandboxes } = this.#options.writers;
    const { namespace, name } = sandbox.metadata;
    const body = { type: "merge", body: { metadata: { annotations: { [traceContextAnnotation]: context } } } } as const;
    await sandboxes.write(keyOf(sandbox), () => client.patch(sandboxType, { namespace, name }, body, {}, signal));
  }

  /** For how many milliseconds a status may wait for a better one; undefined: it is to be written now. */
  #putOff(sandbox: Stored<Sandbox>, status: SandboxStatus): number | undefined {
    const key = keyOf(sandbox);
    const windowMs = notYetWindowMs(sandbox);
    const waitedMs = this.#notYet.waitedMs(key) ?? 0;
    const putOff = saysOnlyNotYet(sandbox.status, status) && waitedMs < windowMs;
    const isNews = putOff && statusPatch(sandbox.status, status) !== undefined;
    this.#notYet.note(key, isNews);
    return isNews ? windowMs - waitedMs : undefined;
  }

  /** Writes the status if it says something new. A sandbox that is gone needs none. */
  async #write(
    sandbox: Stored<Sandbox>,
    status: SandboxStatus,
    client: KubeClient,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    const patch = statusPatch(sandbox.status, status);
    if (!patch) return [];
    const { sandboxes } = this.#options.writers;
    const { namespace, name } = sandbox.metadata;
    const body = { type: "merge", body: { status: patch } } as const;
    const call = () => client.patch(sandboxType, { namespace, name }, body, { subresource: "status" }, signal);
    try {
      await sandboxes.write(keyOf(sandbox), call);
      return [];
    } catch (error) {
      signal.throwIfAborted();
      return isNotFound(error) ? [] : [error];
    }
  }

  #tell(sandbox: Stored<Sandbox>, status: SandboxStatus, { podCreated, failures }: Applied): void {
    const { events, metrics } = this.#options;
    const before = sandbox.status?.conditions ?? [];
    const passage: Passage = { sandbox, before, after: status.conditions ?? [], podCreated, failures };
    for (const happening of happeningsOf(passage)) events?.record(happening);
    metrics.passed(passage);
  }

  #forget(key: string): Outcome {
    this.#metadata.note(key, false);
    this.#notYet.note(key, false);
    this.#options.metrics.forget(key);
    return {};
  }
}

interface Round {
  readonly actedOn: Stored<Sandbox>;
  readonly decision: Decision;
  readonly applied: Applied;
}

/** The conditions speak of the generation that was acted on. A newer wish is in the queue already. */
const asActedOn = (now: Stored<Sandbox>, { spec, metadata }: Stored<Sandbox>): Stored<Sandbox> => ({
  ...now,
  spec,
  metadata: { ...now.metadata, ...(metadata.generation !== undefined && { generation: metadata.generation }) },
});

// Each round brings at least one child into view that was hidden; more than a claim, a Pod and a Service there are not.
const roundsMax = 3;

function throwWhatMayPass(failures: readonly Failure[], unwritten: readonly unknown[]): void {
  if (unwritten.length === 0 && failures.every(({ untilChanged }) => untilChanged)) return;
  const messages = [...failures.map(({ message }) => message), ...unwritten.map(String)];
  throw new AggregateError([...failures.map(({ cause }) => cause), ...unwritten], messages.join("\n"));
}

function earliest(...delaysMs: readonly (number | undefined)[]): Outcome {
  const given = delaysMs.filter((delayMs) => delayMs !== undefined);
  return given.length === 0 ? {} : { requeueAfterMs: Math.min(...given) };
}
