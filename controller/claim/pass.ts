import { parseKey, type Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../api/kinds/sandbox-claim.ts";
import { effectiveClaimShutdownPolicy } from "../../api/rules/defaults.ts";
import { assignedSandboxAnnotation } from "../../api/rules/keys.ts";
import { createdMs } from "../../api/rules/timestamps.ts";
import { isAlreadyExists, isRejected } from "../../kube/client/errors.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Notes as NoteWriter } from "../../kube/notes/notes.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Span } from "../../lib/tracing/tracer.ts";
import type { Creations } from "../stores/creations.ts";
import { policyGap } from "../template/policy-in-place.ts";
import { type Adopter, CandidateLost } from "./adoption/adopter.ts";
import { adoptionPatch } from "./adoption/adoption-patch.ts";
import type { AdoptionQueues } from "./adoption/adoption-queue.ts";
import { unassignPatch } from "./adoption/assignment.ts";
import { type Chosen, chooseCandidate, putBack } from "./adoption/choose-candidate.ts";
import { adoptableFrom, poolKeyOf } from "./adoption/pool-membership.ts";
import { ClaimNotes } from "./claim-notes.ts";
import { ClaimProblem, problemOf } from "./claim-problem.ts";
import type { ClaimWrites } from "./claim-writes.ts";
import { makeClaimedSandbox } from "./create/make-claimed-sandbox.ts";
import { templateOf } from "./create/template-of.ts";
import { decide, requireTemplate, type Step } from "./decide.ts";
import { type ClaimViews, observe } from "./observe.ts";
import type { Observed } from "./observed.ts";
import type { ClaimMetrics } from "./status/claim-metrics.ts";
import * as happenings from "./status/events.ts";
import type { FirstSights } from "./status/first-sights.ts";

export interface PassSurroundings {
  readonly views: ClaimViews;
  readonly writes: ClaimWrites;
  readonly adopter: Adopter;
  readonly queues: AdoptionQueues;
  readonly sights: FirstSights;
  readonly creations: Creations;
  /** Absent: events are switched off. */
  readonly events: EventRecorder | undefined;
  readonly metrics: ClaimMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly labelDomains: readonly string[];
  /** Whether the time at which a claim was first seen is written as an annotation. */
  readonly writesNotes: boolean;
  readonly notes: NoteWriter;
}

/** The result of a pass; the status follows from it. */
export type PassEnd =
  /** No status to write: the claim is being deleted, or waits for a candidate. */
  | { readonly is: "over"; readonly requeueAfterMs?: number }
  | { readonly is: "toBeMarkedExpired"; readonly claim: Stored<SandboxClaim> }
  | {
      readonly is: "ended";
      /** With the results of our own writes. */
      readonly claim: Stored<SandboxClaim>;
      readonly sandbox: Stored<Sandbox> | undefined;
      readonly problem: ClaimProblem | undefined;
      readonly expired: boolean;
      /** Milliseconds until a rejected annotation is to be written again, or a Sandbox that was lost again and again is created. */
      readonly againMs: number | undefined;
      /** Why an annotation could not be written; a retry may succeed. */
      readonly unnoted: unknown;
    };

// At most: a confirmed name, a second one, a removed assignment, and the last step.
const roundsMax = 5;
const longestCandidateWaitMs = 2_000;
const longestPolicyWaitMs = 2_000;
const candidatePollMs = 500;

/** The claim has changed since it was read; the stores show that now or in a moment. */
const requeue: PassEnd = { is: "over", requeueAfterMs: 200 };

/** What `Creations` knows the Sandbox of a claim by. */
const child = "Sandbox";

/** One pass over one claim: steps until one of them ends the pass. */
export class Pass {
  readonly #around: PassSurroundings;
  readonly #notes: ClaimNotes;
  readonly #signal: AbortSignal;
  readonly #confirmed = new Map<string, Stored<Sandbox> | undefined>();
  #claim: Stored<SandboxClaim>;

  constructor(claim: Stored<SandboxClaim>, surroundings: PassSurroundings, span: Span, signal: AbortSignal) {
    this.#claim = claim;
    this.#around = surroundings;
    this.#notes = new ClaimNotes(surroundings, span, signal);
    this.#signal = signal;
  }

  /** Rejects only when it is aborted or the claim is gone. Every other failure becomes the claim's problem. */
  run(): Promise<PassEnd> {
    return this.#takeSteps().catch((error: unknown) => this.#endInVain(error));
  }

  async #takeSteps(): Promise<PassEnd> {
    for (let round = 1; round <= roundsMax; round += 1) {
      const seen = observe(this.#claim, this.#around.views, this.#confirmed, this.#around.clock.now());
      const end = await this.#perform(decide(seen, this.#around.labelDomains), seen);
      if (end) return end;
    }
    throw new Error("the claim needs more steps than one reconcile takes");
  }

  async #endInVain(error: unknown): Promise<PassEnd> {
    this.#signal.throwIfAborted();
    // The claim could not be served, but it was seen: its annotations are still written.
    await this.#writeNotes();
    return { ...this.#endedWith(undefined), problem: problemOf(error) };
  }

  /** Undefined: observe again. */
  async #perform(step: Step, seen: Observed): Promise<PassEnd | undefined> {
    switch (step.do) {
      case "markExpired":
        return { is: "toBeMarkedExpired", claim: this.#claim };
      case "deleteClaim":
        return this.#deleteClaim(step.foreground);
      case "tearDown":
        return this.#tearDown(step);
      case "confirm":
        return this.#confirm(step.name);
      case "unassign":
        return this.#unassign(step.name);
      case "use":
        return this.#use(step);
      case "completeAdoption":
        await this.#writeNotes({ andMoved: true });
        return this.#adopt(step.sandbox, seen);
      case "adoptOrCreate":
        return this.#adoptOrCreate(seen);
      case "create":
        return this.#create(seen);
    }
  }

  #endedWith(sandbox: Stored<Sandbox> | undefined): Extract<PassEnd, { is: "ended" }> {
    const { againMs, failure: unnoted } = this.#notes;
    return { is: "ended", claim: this.#claim, sandbox, problem: undefined, expired: false, againMs, unnoted };
  }

  async #deleteClaim(foreground: boolean): Promise<PassEnd> {
    const { events, writes } = this.#around;
    const options = foreground ? ({ propagationPolicy: "Foreground" } as const) : {};
    if (!(await writes.deleteClaim(this.#claim, options, this.#signal))) return requeue;
    events?.record(happenings.deleting(this.#claim, effectiveClaimShutdownPolicy(this.#claim.spec.lifecycle)));
    return { is: "over" };
  }

  /** The claim's spec deletes the Sandboxes, so a direct read must confirm that it is unchanged. */
  async #tearDown({ sandbox, toDelete }: Extract<Step, { do: "tearDown" }>): Promise<PassEnd> {
    const { writes } = this.#around;
    if (toDelete.length > 0) {
      const fresh = await writes.freshClaim(this.#claim, this.#signal);
      if (fresh?.metadata.resourceVersion !== this.#claim.metadata.resourceVersion) return requeue;
    }
    for (const each of toDelete) await writes.deleteSandbox(each, this.#claim, this.#signal);
    return { ...this.#endedWith(sandbox), expired: true };
  }

  async #confirm(name: string): Promise<undefined> {
    const { namespace } = this.#claim.metadata;
    this.#confirmed.set(name, await this.#around.writes.freshSandbox(namespace, name, this.#signal));
  }

  async #unassign(name: string): Promise<undefined> {
    const patch = unassignPatch(this.#claim, name);
    if (patch) this.#claim = await this.#around.writes.patchClaim(this.#claim, patch, this.#signal);
  }

  async #use({ byAssignment, sandbox, patch, surplus }: Extract<Step, { do: "use" }>): Promise<PassEnd> {
    await this.#writeNotes({ andMoved: byAssignment });
    const patched = patch ? await this.#around.writes.patchSandbox(sandbox, patch, this.#signal) : sandbox;
    if (surplus.length > 0) await this.#deleteSurplus(sandbox, surplus);
    return this.#endedWith(patched);
  }

  /** Two controllers at once may have bound two. A direct read of the claim decides which one it has. */
  async #deleteSurplus(bound: Stored<Sandbox>, surplus: readonly Stored<Sandbox>[]): Promise<void> {
    const { writes } = this.#around;
    const claim = await writes.freshClaim(this.#claim, this.#signal);
    if (claim?.status?.sandbox?.name !== bound.metadata.name) return;
    for (const sandbox of surplus) await writes.deleteSandbox(sandbox, claim, this.#signal);
  }

  async #adoptOrCreate(seen: Observed): Promise<PassEnd> {
    const { queues, views } = this.#around;
    const poolKey = poolKeyOf(this.#claim);
    const sandboxOf = (key: string) => views.sandboxes.get(key);
    const { chosen, pending } = chooseCandidate({ ...seen, poolKey, queues, sandboxOf });
    if (chosen) return this.#adoptChosen(chosen, seen);
    const waitMs = pending > 0 ? longestCandidateWaitMs - this.#ageMs(seen.now) : 0;
    if (!(waitMs > 0)) return this.#create(seen);
    await this.#writeNotes();
    return { is: "over", requeueAfterMs: Math.min(candidatePollMs, waitMs) };
  }

  async #adoptChosen({ candidate, sandbox }: Chosen, seen: Observed): Promise<PassEnd> {
    const { adopter, queues, views } = this.#around;
    const sandboxOf = (key: string) => views.sandboxes.get(key);
    try {
      // If the Sandbox is of an older template than the pool's, a contradiction is reported before it is assigned.
      adoptionPatch(sandbox, this.#claim, templateOf(sandbox, seen));
      this.#claim = await adopter.assign(this.#claim, sandbox.metadata.name, this.#notes.of(this.#claim), this.#signal);
    } catch (error) {
      putBack(candidate, { poolKey: poolKeyOf(this.#claim), queues, sandboxOf });
      // No pool member without an assignment, but a new Sandbox needs none.
      if (!isRejected(error)) throw error;
      this.#around.notes.rejected(this.#claim, assignedSandboxAnnotation, error);
      return this.#create(seen);
    }
    try {
      return await this.#adopt(sandbox, seen);
    } catch (error) {
      if (!(error instanceof CandidateLost)) putBack(candidate, { poolKey: poolKeyOf(this.#claim), queues, sandboxOf });
      throw error;
    }
  }

  async #adopt(pooled: Stored<Sandbox>, seen: Observed): Promise<PassEnd> {
    const { adopter, events, metrics } = this.#around;
    const sandbox = await adopter.adopt(
      this.#notes.traced(this.#claim),
      pooled,
      templateOf(pooled, seen),
      this.#signal,
    );
    events?.record(happenings.adopted(this.#claim, sandbox.metadata.name));
    const poolName = parseKey(adoptableFrom(pooled) ?? "").name;
    metrics.provisioned({ claim: this.#claim, sandbox, launchType: "warm", poolName });
    return this.#endedWith(sandbox);
  }

  async #create(seen: Observed): Promise<PassEnd> {
    const template = requireTemplate(seen);
    const gap = policyGap(template, this.#around.views.networkPolicies);
    if (gap !== undefined) return this.#awaitPolicy(gap, seen.now);
    const { writes, events, metrics, creations } = this.#around;
    const againMs = creations.waitMs(this.#claim, child);
    if (againMs > 0) return { ...this.#endedWith(undefined), againMs };
    if (creations.isRepeated(this.#claim, child)) {
      const fresh = await writes.freshClaim(this.#claim, this.#signal);
      if (!fresh) return { is: "over" };
      if (fresh.metadata.resourceVersion !== this.#claim.metadata.resourceVersion) return requeue;
    }
    await this.#writeNotes();
    const made = makeClaimedSandbox(template, this.#notes.traced(this.#claim));
    const sandbox = await writes.createSandbox(made, this.#signal).catch((error: unknown) => {
      throw isAlreadyExists(error) ? createPending(made, error) : error;
    });
    creations.note(this.#claim, child);
    events?.record(happenings.provisioned(this.#claim, sandbox.metadata.name));
    const poolName = this.#claim.spec.warmPoolRef.name;
    metrics.provisioned({ claim: this.#claim, sandbox, launchType: "cold", poolName });
    return this.#endedWith(sandbox);
  }

  /**
   * The policy enqueues the claim when it appears. The template of a young claim may be as young, so no condition
   * reports the gap for the first 2 s.
   */
  #awaitPolicy(gap: string, now: Date): PassEnd {
    const waitMs = longestPolicyWaitMs - this.#ageMs(now);
    if (waitMs > 0) return { is: "over", requeueAfterMs: waitMs };
    throw new ClaimProblem("ReconcilerError", gap);
  }

  /** `andMoved`: turn a legacy label assignment into an annotation. */
  async #writeNotes({ andMoved } = { andMoved: false }): Promise<void> {
    this.#claim = await this.#notes.write(this.#claim, andMoved);
  }

  /** The larger of the ages by the server's clock and by ours: a wrong clock must not make a claim wait for ever. */
  #ageMs(now: Date): number {
    const sinceCreationMs = now.getTime() - createdMs(this.#claim);
    return Math.max(sinceCreationMs, this.#around.sights.ageMs(this.#claim));
  }
}

const createPending = ({ metadata }: Sandbox, cause: unknown) => {
  const text = `Sandbox "${metadata.name}" already exists; the cache has to converge`;
  return new ClaimProblem("SandboxCreatePending", text, { cause });
};
