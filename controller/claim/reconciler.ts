import { keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import { type NetworkPolicy, networkPolicyType } from "../../api/kinds/network-policy.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/kinds/sandbox-claim.ts";
import { claimFirstReadyAtAnnotation, createdByLabel } from "../../api/rules/keys.ts";
import { unreadableTimesText } from "../../api/rules/timestamps.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { SlowRetries } from "../../lib/queues/slow-retries.ts";
import type { Outcome } from "../../lib/queues/workers.ts";
import type { Span } from "../../lib/tracing/tracer.ts";
import type { View } from "../own-writes.ts";
import { ownershipOf } from "../ownership.ts";
import { recordedPodName } from "../sandbox/find-pod.ts";
import { earliest } from "../sandbox/queue/pass-end.ts";
import { ErrorTexts } from "../sandbox/status/error-texts.ts";
import { creatorAttribute, type Traces } from "../traces.ts";
import type { ClaimProblem } from "./claim-problem.ts";
import { Pass, type PassEnd, type PassSurroundings } from "./pass.ts";
import { conclude, markedExpired, readyOf, statusPatch } from "./status/conclude.ts";
import * as happenings from "./status/events.ts";
import { expiryOf } from "./status/expiry.ts";
import { firstReadyStep } from "./status/first-ready.ts";
import { claimExpired } from "./status/ready-fact.ts";
import { resumeOf, resumingReason } from "./status/resuming.ts";

export interface ClaimReconcilerOptions extends PassSurroundings {
  readonly client: KubeClient;
  readonly pods: View<Pod>;
  readonly networkPolicies: View<NetworkPolicy>;
  readonly traces: Traces;
}

const recheckMissingMs = 60_000;
const convergeMs = 200;
// The next pass acts on the written status; there is nothing to wait for in between.
const afterMarkingMs = 1;

/** Gives each claim its Sandbox and writes the claim's status, one claim at a time. */
export class ClaimReconciler {
  readonly #options: ClaimReconcilerOptions;
  /** Of requests for claims that the API server has rejected. */
  readonly #rejected: SlowRetries;
  readonly #errorTexts: ErrorTexts;

  constructor(options: ClaimReconcilerOptions) {
    this.#options = options;
    this.#rejected = new SlowRetries(options.clock);
    this.#errorTexts = new ErrorTexts(options.clock, claimExpired);
  }

  /** @throws the error of a step that may succeed at a retry. */
  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const claim = this.#options.views.claims.get(key);
    if (!claim) this.#options.sights.forget(key);
    if (!claim || claim.metadata.deletionTimestamp) {
      this.#rejected.forget(key);
      this.#errorTexts.forget(key);
      return {};
    }
    await this.#deleteLegacyPolicy(claim, signal);
    return this.#options.traces.during("ReconcileSandboxClaim", claim, creatorIfAny, (span) =>
      this.#bringInLine(claim, span, signal),
    );
  }

  async #bringInLine(claim: Stored<SandboxClaim>, span: Span, signal: AbortSignal): Promise<Outcome> {
    const end = await new Pass(claim, this.#options, span, signal).run();
    if (end.is === "over") return { requeueAfterMs: end.requeueAfterMs };
    const status = this.#conclude(end);
    const textDeferredMs = this.#errorTexts.deferMs(keyOf(end.claim), end.claim.status, status);
    const written = textDeferredMs === undefined ? await this.#writeStatus(end.claim, status, signal) : "written";
    const problem = end.is === "ended" ? end.problem : undefined;
    const requestAgainMs = this.#requestAgainMs(end.claim, problem);
    if (written === "gone") return {};
    // The next pass writes the status of the claim that has been read.
    if (written === "changed") return throwIfToBeRetried(problem, { requeueAfterMs: convergeMs });
    this.#reportUnreadableTime(end.claim);
    const sandbox = end.is === "ended" ? end.sandbox : undefined;
    const newlyExpired = !problem && isMarked(status) && !isMarked(end.claim.status);
    if (newlyExpired) this.#options.events?.record(happenings.expired(end.claim));
    if (textDeferredMs === undefined) this.#reportFailedCleanup(end.claim, status, problem);
    const noteAgainMs = await this.#noteFirstReady(end.claim, status, sandbox, signal);
    const next = newlyExpired
      ? { requeueAfterMs: afterMarkingMs }
      : this.#next(end, status, [noteAgainMs, requestAgainMs, textDeferredMs]);
    if (end.is === "ended" && end.unnoted !== undefined && !problem) throw end.unnoted;
    return throwIfToBeRetried(problem, next);
  }

  /** At most once for each text: when the status tells it. */
  #reportFailedCleanup(
    claim: Stored<SandboxClaim>,
    status: SandboxClaimStatus,
    problem: ClaimProblem | undefined,
  ): void {
    if (!problem || problem.reason === "ClaimExpired" || !isMarked(status)) return;
    if (readyOf(status)?.message === readyOf(claim.status)?.message) return;
    this.#options.events?.record(happenings.cleanupFailed(claim, problem.message));
  }

  /** Milliseconds until a request that the API server has rejected is made again. Another failure in between does not begin anew. */
  #requestAgainMs(claim: Stored<SandboxClaim>, problem: ClaimProblem | undefined): number | undefined {
    if (problem?.remedy === "retry") return undefined;
    return this.#rejected.afterPass(keyOf(claim), claim.metadata, problem?.remedy === "retrySlowly");
  }

  #conclude(end: Exclude<PassEnd, { is: "over" }>): SandboxClaimStatus {
    const now = this.#options.clock.now();
    if (end.is === "toBeMarkedExpired") return markedExpired({ claim: end.claim, now });
    const { sandbox } = end;
    const podName = sandbox && (recordedPodName(sandbox) || sandbox.metadata.name);
    const pod = podName && this.#options.pods.get(keyFor(sandbox.metadata.namespace, podName));
    return conclude({ ...end, now, pod: pod || undefined });
  }

  /** At most once for each generation: the API server accepts times that cannot be parsed. */
  #reportUnreadableTime(claim: Stored<SandboxClaim>): void {
    if (readyOf(claim.status)?.observedGeneration === claim.metadata.generation) return;
    const note = unreadableTimesText({ "spec.lifecycle.shutdownTime": claim.spec.lifecycle?.shutdownTime });
    if (note !== undefined) this.#options.events?.record(happenings.unreadableTime(claim, note));
  }

  /** `changed` and `gone`: nothing was written. A claim that is gone is not shown any more. */
  async #writeStatus(
    claim: Stored<SandboxClaim>,
    status: SandboxClaimStatus,
    signal: AbortSignal,
  ): Promise<"written" | "changed" | "gone"> {
    const body = statusPatch(claim, status);
    if (!body) return "written";
    const { writes } = this.#options;
    try {
      await writes.patchClaim(claim, body, signal, "status");
      return "written";
    } catch (error) {
      signal.throwIfAborted();
      if (!isConflict(error) && !isNotFound(error)) throw error;
      // The watch may be silent: without the read, the next pass would write the same in vain.
      if (!(await writes.freshClaim(claim, signal))) return "gone";
      if (isConflict(error)) return "changed";
      throw error;
    }
  }

  /** Returns the milliseconds until the annotation is to be tried again, if it was rejected. */
  async #noteFirstReady(
    claim: Stored<SandboxClaim>,
    status: SandboxClaimStatus,
    sandbox: Stored<Sandbox> | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const step = firstReadyStep(claim, status);
    if (!step) return undefined;
    const { writes, clock, metrics, sights, notes } = this.#options;
    if (step === "record" && !sights.hasSeenReady(claim)) {
      const now = clock.now();
      metrics.firstReady(claim, sandbox, sights.see(claim).at, now);
      // The annotation is written in a later pass, which the status write above triggers: other claims come first.
      sights.becameReady(claim, now);
      return undefined;
    }
    const write = async () => {
      const body = { metadata: { annotations: { [claimFirstReadyAtAnnotation]: sights.takeReadyAt(claim) } } };
      await writes.noteOnClaim(claim, body, signal);
      sights.forget(keyOf(claim), claim.metadata.uid);
    };
    return notes.write(claim, claimFirstReadyAtAnnotation, write);
  }

  /** When time alone, or an object that is not watched for this claim, may change the result. */
  #next(
    end: Exclude<PassEnd, { is: "over" }>,
    status: SandboxClaimStatus,
    againMs: readonly (number | undefined)[],
  ): Outcome {
    if (isMarked(status)) return earliest(...againMs);
    const expiry = expiryOf({ spec: end.claim.spec, status });
    const now = this.#options.clock.now();
    const leftMs = expiry && expiry.getTime() - now.getTime();
    const delays = againMs.filter((delayMs) => delayMs !== undefined);
    if (leftMs !== undefined) delays.push(Math.max(leftMs, afterMarkingMs));
    if (end.is === "ended" && end.againMs !== undefined) delays.push(end.againMs);
    const remedy = end.is === "ended" ? end.problem?.remedy : undefined;
    if (remedy === "recheck") delays.push(recheckMissingMs);
    if (remedy === "converge") delays.push(convergeMs);
    if (end.is === "ended" && readyOf(status)?.reason === resumingReason) {
      const resume = resumeOf({ ...end, now });
      if (resume?.leftMs !== undefined) delays.push(resume.leftMs);
      // The resume has timed out since the status was computed.
      if (!resume) delays.push(afterMarkingMs);
    }
    return earliest(...delays);
  }

  /** Older releases created a NetworkPolicy for each claim; the template's policy replaces it. */
  async #deleteLegacyPolicy(claim: Stored<SandboxClaim>, signal: AbortSignal): Promise<void> {
    const { namespace, name } = claim.metadata;
    const policy = this.#options.networkPolicies.get(keyFor(namespace, `${name}-network-policy`));
    if (!policy || policy.metadata.deletionTimestamp || ownershipOf(policy, claim) !== "owned") return;
    const { client } = this.#options;
    const { uid, resourceVersion } = policy.metadata;
    const options = { preconditions: { uid, resourceVersion } };
    await client
      .delete(networkPolicyType, { namespace, name: policy.metadata.name }, options, signal)
      .catch((err: unknown) => {
        signal.throwIfAborted();
        if (!isNotFound(err))
          this.#options.log.warn(
            { err, claim: keyOf(claim) },
            "could not delete the NetworkPolicy that an earlier release made for a claim; the next reconcile of the claim tries again",
          );
      });
  }
}

const creatorIfAny = (claim: Stored<SandboxClaim>) =>
  claim.metadata.labels?.[createdByLabel] ? creatorAttribute(claim) : {};

const isMarked = (status: SandboxClaimStatus | undefined): boolean => readyOf(status)?.reason === "ClaimExpired";

function throwIfToBeRetried(problem: ClaimProblem | undefined, outcome: Outcome): Outcome {
  if (problem?.remedy === "retry") throw problem;
  return problem?.remedy === "retrySlowly" ? { ...outcome, isRejected: true } : outcome;
}
