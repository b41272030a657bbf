import { effectiveClaimShutdownPolicy } from "../../api/defaults.ts";
import { controllerFirstObservedAtAnnotation, traceContextAnnotation } from "../../api/keys.ts";
import { keyOf, parseKey, type Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import type { Span } from "../../lib/tracing/tracer.ts";
import { contextToWrite } from "../traces.ts";
import { type Adopter, CandidateLost } from "./adopter.ts";
import type { AdoptionQueues } from "./adoption-queue.ts";
import { type Notes, notesPatch, unassignPatch } from "./assignment.ts";
import { type Chosen, chooseCandidate } from "./choose-candidate.ts";
import type { ClaimMetrics } from "./claim-metrics.ts";
import { ClaimProblem, problemOf } from "./claim-problem.ts";
import type { ClaimWrites } from "./claim-writes.ts";
import { decide, requireTemplate, type Step } from "./decide.ts";
import type { FirstSights } from "./first-sights.ts";
import * as happenings from "./happenings.ts";
import { makeClaimedSandbox } from "./make-claimed-sandbox.ts";
import { type ClaimViews, observe } from "./observe.ts";
import type { Observed } from "./observed.ts";
import { adoptableFrom, poolKeyOf } from "./pool-membership.ts";

export interface PassSurroundings {
  readonly views: ClaimViews;
  readonly writes: ClaimWrites;
  readonly adopter: Adopter;
  readonly queues: AdoptionQueues;
  readonly sights: FirstSights;
  /** Absent: events are switched off. */
  readonly events: EventRecorder | undefined;
  readonly metrics: ClaimMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly labelDomains: readonly string[];
  /** Whether the time at which a claim was first seen is written on it. */
  readonly writesNotes: boolean;
}

/** How the work of a pass ended; what the status is to say follows from it. */
export type PassEnd =
  /** There is no status to write: the claim is being deleted, or waits for a candidate. */
  | { readonly is: "over"; readonly requeueAfterMs?: number }
  | { readonly is: "toBeMarkedExpired"; readonly claim: Stored<SandboxClaim> }
  | {
      readonly is: "ended";
      /** As our own writes have left it. */
      readonly claim: Stored<SandboxClaim>;
      readonly sandbox: Stored<Sandbox> | undefined;
      readonly problem: ClaimProblem | undefined;
      readonly expired: boolean;
    };

// A confirmed name, another one, an assignment taken off, and then the last step.
const roundsMax = 5;
const longestCandidateWaitMs = 2_000;
const candidatePollMs = 500;

/** One look at one claim, and what is done about it: steps until one of them is the last. */
export class Pass {
  readonly #around: PassSurroundings;
  readonly #span: Span;
  readonly #signal: AbortSignal;
  readonly #confirmed = new Map<string, Stored<Sandbox> | undefined>();
  #claim: Stored<SandboxClaim>;

  constructor(claim: Stored<SandboxClaim>, surroundings: PassSurroundings, span: Span, signal: AbortSignal) {
    this.#claim = claim;
    this.#around = surroundings;
    this.#span = span;
    this.#signal = signal;
  }

  /**
   * Rejects only when it is interrupted, or could not write down what it saw, which says nothing about the claim:
   * everything else that fails is a problem of the claim.
   */
  async run(): Promise<PassEnd> {
    try {
      return await this.#takeSteps().catch((error: unknown) => this.#endInVain(error));
    } catch (error) {
      throw error instanceof Unnoted ? error.cause : error;
    }
  }

  async #takeSteps(): Promise<PassEnd> {
    for (let round = 1; round <= roundsMax; round += 1) {
      const seen = observe(this.#claim, this.#around.views, this.#confirmed, this.#around.clock.now());
      const end = await this.#perform(decide(seen, this.#around.labelDomains), seen);
      if (end) return end;
    }
    throw new Error("the claim leads from one Sandbox to the next");
  }

  async #endInVain(error: unknown): Promise<PassEnd> {
    this.#signal.throwIfAborted();
    if (error instanceof Unnoted) throw error;
    // Nothing could be done, but the claim was seen.
    await this.#writeNotes();
    return { ...this.#endedWith(undefined), problem: problemOf(error) };
  }

  /** Undefined: look again. */
  async #perform(step: Step, seen: Observed): Promise<PassEnd | undefined> {
    switch (step.do) {
      case "markExpired":
        return { is: "toBeMarkedExpired", claim: this.#claim };
      case "deleteClaim":
        return this.#deleteClaim(step.foreground);
      case "tearDown":
        for (const sandbox of step.doomed) await this.#around.writes.deleteSandbox(sandbox, this.#signal);
        return { ...this.#endedWith(step.sandbox), expired: true };
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
    return { is: "ended", claim: this.#claim, sandbox, problem: undefined, expired: false };
  }

  async #deleteClaim(foreground: boolean): Promise<PassEnd> {
    const { events, writes } = this.#around;
    events?.record(happenings.deleting(this.#claim, effectiveClaimShutdownPolicy(this.#claim.spec.lifecycle)));
    await writes.deleteClaim(this.#claim, foreground ? { propagationPolicy: "Foreground" } : {}, this.#signal);
    return { is: "over" };
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

  /** Two controllers at once may have bound two. The API server itself has to say which one the claim has. */
  async #deleteSurplus(bound: Stored<Sandbox>, surplus: readonly Stored<Sandbox>[]): Promise<void> {
    const { writes } = this.#around;
    const claim = await writes.freshClaim(this.#claim, this.#signal);
    if (claim?.status?.sandbox?.name !== bound.metadata.name) return;
    for (const sandbox of surplus) await writes.deleteSandbox(sandbox, this.#signal);
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
    const { adopter, queues } = this.#around;
    try {
      this.#claim = await adopter.assign(this.#claim, sandbox.metadata.name, this.#notes(), this.#signal);
      return await this.#adopt(sandbox, seen);
    } catch (error) {
      if (!(error instanceof CandidateLost)) queues.putBack(poolKeyOf(this.#claim), candidate);
      throw error;
    }
  }

  async #adopt(pooled: Stored<Sandbox>, { template }: Observed): Promise<PassEnd> {
    const { adopter, events, metrics } = this.#around;
    const sandbox = await adopter.adopt(this.#traced(), pooled, template, this.#signal);
    events?.record(happenings.adopted(this.#claim, sandbox.metadata.name));
    const poolName = parseKey(adoptableFrom(pooled) ?? "").name;
    metrics.provisioned({ claim: this.#claim, sandbox, launchType: "warm", poolName });
    return this.#endedWith(sandbox);
  }

  async #create(seen: Observed): Promise<PassEnd> {
    await this.#writeNotes();
    const { writes, events, metrics } = this.#around;
    const made = makeClaimedSandbox(requireTemplate(seen), this.#traced());
    const sandbox = await writes.createSandbox(made, this.#signal).catch((error: unknown) => {
      throw isAlreadyExists(error) ? createPending(made, error) : error;
    });
    events?.record(happenings.provisioned(this.#claim, sandbox.metadata.name));
    const poolName = this.#claim.spec.warmPoolRef.name;
    metrics.provisioned({ claim: this.#claim, sandbox, launchType: "cold", poolName });
    return this.#endedWith(sandbox);
  }

  /** `andMoved`: an assignment by a label becomes one by an annotation. */
  async #writeNotes({ andMoved } = { andMoved: false }): Promise<void> {
    const patch = notesPatch(this.#claim, this.#notes(), andMoved);
    if (!patch) return;
    const { spec } = this.#claim;
    const { generation = 0 } = this.#claim.metadata;
    try {
      const patched = await this.#around.writes.patchClaim(this.#claim, patch, this.#signal);
      // The status will speak of the wish that is acted on; a newer one wakes the claim again.
      this.#claim = { ...patched, spec, metadata: { ...patched.metadata, generation } };
    } catch (cause) {
      if (notesPatch(this.#claim, this.#notes(), false)) throw new Unnoted("nothing could be noted", { cause });
      this.#signal.throwIfAborted();
      const claim = keyOf(this.#claim);
      this.#around.log.warn({ err: cause, claim }, "could not write an old assignment as it is written now");
    }
  }

  #notes(): Notes {
    const { writesNotes, sights } = this.#around;
    const noted = this.#claim.metadata.annotations?.[controllerFirstObservedAtAnnotation];
    return {
      firstObservedAt: writesNotes && !noted ? sights.see(this.#claim).at : undefined,
      traceContext: writesNotes ? contextToWrite(this.#claim, this.#span) : undefined,
    };
  }

  /** The claim, with a trace that its Sandbox continues even where nothing is noted on the claim itself. */
  #traced(): Stored<SandboxClaim> {
    const context = contextToWrite(this.#claim, this.#span);
    if (context === undefined) return this.#claim;
    const { metadata } = this.#claim;
    const annotations = { ...metadata.annotations, [traceContextAnnotation]: context };
    return { ...this.#claim, metadata: { ...metadata, annotations } };
  }

  /** By the server's clock or by ours, whichever says more: a wrong clock must not make a claim wait for ever. */
  #ageMs(now: Date): number {
    const sinceCreationMs = now.getTime() - Date.parse(this.#claim.metadata.creationTimestamp);
    return Math.max(sinceCreationMs, this.#around.sights.ageMs(this.#claim));
  }
}

class Unnoted extends Error {
  override readonly name = "Unnoted";
}

const createPending = ({ metadata }: Sandbox, cause: unknown) => {
  const text = `Sandbox "${metadata.name}" already exists; the cache has to converge`;
  return new ClaimProblem("SandboxCreatePending", text, { cause });
};
