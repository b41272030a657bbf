import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { effectiveAutoSuspension, effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isRejected } from "../../../kube/client/errors.ts";
import type { EventRecorder } from "../../../kube/events/event-recorder.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { OwnWrites } from "../../own-writes.ts";
import { isExpired } from "../../sandbox/expiry.ts";
import { findPod } from "../../sandbox/find-pod.ts";
import type { Observed } from "../../sandbox/observed.ts";
import { cancelled, causeNotRenewed, unaskedCut, workCut } from "../events.ts";
import { type Capture, captureOf } from "../hibernation/capture-state.ts";
import type { SuspensionMetrics } from "../suspension-metrics.ts";
import { type Askers, askAll, type QuestionStep } from "./ask-all.ts";
import {
  type DeletePod,
  decideSuspension,
  endsWithoutSeal,
  type OwnPod,
  type Round,
  type SuspensionStep,
} from "./decide-suspension.ts";
import { deletePod } from "./delete-pod.ts";
import { asOwnPod, ownPodOf } from "./own-pod.ts";
import { patchSandbox } from "./patch-sandbox.ts";
import { renewCausePatch, runningPatch, sealPatch, unsealPatch } from "./patches.ts";
import { Questions } from "./questions.ts";
import { isOfNextStep, type PodRead, readPod } from "./read-pod.ts";
import { type RejectedSuspensions, rejectedSeal } from "./rejected-suspensions.ts";
import { SealAges } from "./seal-ages.ts";
import { writeCapture } from "./write-capture.ts";

export interface SuspenderOptions {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly pods: OwnWrites<Pod, "trackedOwner">;
  /** Undefined: nothing captures memory. */
  readonly images?: OwnWrites<MemoryImage, "sandboxUid"> | undefined;
  /** Undefined without activators: then only a suspension with a seal proceeds. */
  readonly askers: Askers | undefined;
  /** Whether an activator has reported that it sends nothing more to that Pod. */
  readonly isFenced: (sandboxUid: string, podUid: string) => boolean;
  /** See `Situation`. */
  readonly silenceLimitMs: number;
  readonly events: EventRecorder | undefined;
  readonly metrics: SuspensionMetrics;
  readonly rejections: RejectedSuspensions;
  readonly clock: Clock;
  /** A suspension was cancelled; the requester should wait before the next attempt. */
  readonly onCancelled: (key: string) => void;
}

/** The progress of a sandbox's suspension in this pass. */
export type SuspensionProgress =
  /** No handshake: the sandbox runs, or no activators are configured. */
  | { readonly is: "none" }
  | { readonly is: "underWay"; readonly recheckAfterMs: number | undefined }
  /** Activators are asked. The pass ends, and another one is due when they have answered, see `onAnswered`. */
  | { readonly is: "asking" }
  /** The status may report `Suspended`, for this generation only. */
  | { readonly is: "complete"; readonly generation: number | undefined };

type WriteStep = Extract<
  SuspensionStep,
  { do: "seal" | "unseal" | "writeRunning" | "capture" | "giveUpCapture" | "deletePod" }
>;

const captureSeen = ({ memory, memoryRefusal }: Seen, pod: OwnPod | undefined): Capture =>
  pod ? captureOf(memory, pod.uid, memoryRefusal) : { is: "none" };

interface Known {
  readonly fresh: PodRead | undefined;
  readonly round: Round | undefined;
  readonly causeIsFinal: boolean;
}

type Seen = Pick<Observed, "sandbox" | "pods" | "memoryRefusal" | "memory">;

/** Steps are undone or superseded only a few times. */
const stepsMax = 20;

/** Takes the steps of the handshake one by one, each decided on the current state. */
export class Suspender implements Disposable {
  readonly #options: SuspenderOptions;
  readonly #sealAges = new SealAges();
  readonly #questions = new Questions();
  readonly #subscription: Disposable;

  constructor(options: SuspenderOptions) {
    this.#options = options;
    this.#subscription = options.sandboxes.onGone(({ metadata }) => {
      this.#sealAges.forget(metadata.uid);
      this.#questions.drop(metadata.uid);
    });
  }

  /** Of how many sandboxes it remembers since when their Pod is sealed. */
  get sealsRemembered(): number {
    return this.#sealAges.size;
  }

  /** Calls back with the key of each sandbox whose activators have answered, or could not be asked. */
  onAnswered(listener: (key: string) => void): Disposable {
    return this.#questions.onAnswered(listener);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    this.#questions[Symbol.dispose]();
  }

  /**
   * Goes on with the suspension of a sandbox for as long as there is something to do now. `read` returns the sandbox as it
   * is after each step; undefined once it is gone.
   *
   * @throws the errors of `KubeClient`, and an error after too many steps; the next pass continues from there.
   */
  async suspend(read: () => Seen | undefined, signal: AbortSignal): Promise<SuspensionProgress> {
    const uid = read()?.sandbox.metadata.uid;
    const progress = await this.#takeSteps(read, signal);
    // What was asked for a state that is over is of no use for another.
    if (uid !== undefined && progress.is !== "asking") this.#questions.drop(uid);
    return progress;
  }

  async #takeSteps(read: () => Seen | undefined, signal: AbortSignal): Promise<SuspensionProgress> {
    let round: Round | undefined;
    let causeIsFinal = false;
    let lastRead: PodRead | undefined;
    for (let count = 0; count < stepsMax; count += 1) {
      const seen = read();
      if (!seen || !this.#handles(seen)) {
        if (seen) this.#sealAges.forget(seen.sandbox.metadata.uid);
        return { is: "none" };
      }
      const fresh = lastRead && isOfNextStep(lastRead, seen) ? lastRead : undefined;
      const step = this.#decide(seen, { fresh, round, causeIsFinal });
      lastRead = undefined;
      if (step.do === "nothing") return { is: "none" };
      if (step.do === "reportSuspended") return { is: "complete", generation: seen.sandbox.metadata.generation };
      if (step.do === "wait") return { is: "underWay", recheckAfterMs: step.recheckAfterMs };
      if (step.do === "readPod") lastRead = await readPod(seen.sandbox, step.podName, this.#options, signal);
      else if (step.do === "askObserved" || step.do === "askPromises") {
        round = this.#ask(seen, step);
        if (!round) return { is: "asking" };
      } else {
        round = undefined;
        // A question that is about the Sandbox as it was before a write is asked once more.
        this.#questions.drop(seen.sandbox.metadata.uid);
        if (step.do === "renewCause") causeIsFinal = !(await this.#renewCause(seen.sandbox, signal));
        else await this.#write(fresh?.pod ? { ...seen, pods: [...seen.pods, fresh.pod] } : seen, step, signal);
      }
    }
    throw new Error(`the handshake has not come to rest after ${stepsMax} steps`);
  }

  /**
   * Whether the observed state waits for more steps of a handshake after this progress. A change of operatingMode after
   * the last step waits for the next pass, and a Pod that a store still shows is not deleted because of it.
   */
  isPending(seen: Seen, standing: SuspensionProgress): boolean {
    const { sandbox } = seen;
    if (!this.#handles(seen) || effectiveOperatingMode(sandbox.spec) === "Running") return false;
    const over = standing.is === "complete" && standing.generation === sandbox.metadata.generation;
    return !over || ownPodOf(seen) !== undefined;
  }

  /** An expired sandbox loses its Pod even with requests in flight, and of several Pods it is unknown which to keep. */
  #handles(seen: Seen): boolean {
    const { sandbox } = seen;
    if (isExpired(sandbox, this.#options.clock.now()) || findPod(seen).found === "several") return false;
    if (this.#options.askers !== undefined || sealOf(sandbox) !== undefined) return true;
    // Also without activators, memory is captured before the deletion.
    return captureSeen(seen, ownPodOf(seen)).is !== "none";
  }

  #decide(seen: Seen, { fresh, round, causeIsFinal }: Known) {
    const { clock, silenceLimitMs, isFenced } = this.#options;
    const now = clock.now();
    const pod = fresh ? fresh.pod && asOwnPod(fresh.pod) : ownPodOf(seen);
    const sealedForMs = this.#sealedForMs(seen.sandbox);
    return decideSuspension({
      sandbox: seen.sandbox,
      pod,
      podIsFresh: fresh !== undefined,
      memoryRefusal: seen.memoryRefusal,
      capture: captureSeen(seen, pod),
      hasActivators: this.#options.askers !== undefined,
      podIsFenced: pod !== undefined && isFenced(seen.sandbox.metadata.uid, pod.uid),
      round,
      causeIsFinal,
      sealedForMs,
      silenceLimitMs,
      now,
    });
  }

  /** Milliseconds; 0 without a seal. Call only for an existing sandbox: it remembers the seal. */
  #sealedForMs(sandbox: Stored<Sandbox>): number {
    const { clock } = this.#options;
    const { uid } = sandbox.metadata;
    const seal = sealOf(sandbox);
    if (seal) return this.#sealAges.ageMs(uid, seal, clock.ticksMs());
    this.#sealAges.forget(uid);
    return 0;
  }

  /** The answers of the activators; undefined until they are there. */
  #ask({ sandbox }: Seen, step: QuestionStep): Round | undefined {
    const { askers } = this.#options;
    const { namespace = "", name, uid } = sandbox.metadata;
    // Activators that start between two seals of a Pod are not among those that were asked about the first one.
    const text = JSON.stringify([step, sealOf(sandbox)]);
    const question = { key: keyOf(sandbox), namespace, sandboxUid: uid, text };
    return this.#questions.answersTo(question, (signal) => askAll(askers, { namespace, name, uid }, step, signal));
  }

  async #write({ sandbox, pods }: Seen, step: WriteStep, signal: AbortSignal): Promise<void> {
    const { metrics, events, clock, onCancelled } = this.#options;
    switch (step.do) {
      case "seal":
        return this.#seal({ sandbox, pods }, step, signal);
      case "writeRunning":
        if (await patchSandbox(sandbox, runningPatch(sandbox), this.#options, signal)) {
          metrics.cancelled();
          events?.record(cancelled(sandbox, step.why));
          onCancelled(keyOf(sandbox));
        } else metrics.overtaken();
        return;
      case "unseal":
        if (await patchSandbox(sandbox, unsealPatch(sandbox), this.#options, signal))
          this.#sealAges.forget(sandbox.metadata.uid);
        return;
      case "capture":
        await writeCapture(step, { ...this.#options, pods }, signal);
        return this.#reportCut(sandbox, step);
      case "giveUpCapture":
        return writeCapture(step, { ...this.#options, pods }, signal);
      case "deletePod": {
        const pod = pods.find(({ metadata }) => metadata.uid === step.podUid);
        const sealedForMs = this.#sealedForMs(sandbox);
        const askedAtMs = clock.ticksMs();
        if (!pod) throw new Error(`the Pod ${step.podName} (uid ${step.podUid}) that is to be deleted is not in view`);
        if (!(await deletePod(pod, this.#options, signal))) return;
        metrics.completed(sealOf(sandbox)?.cause ?? "Person", sealedForMs + clock.ticksMs() - askedAtMs);
        this.#reportCut(sandbox, step);
      }
    }
  }

  #reportCut(sandbox: Stored<Sandbox>, step: Pick<DeletePod, "cut" | "unasked">): void {
    const { metrics, events } = this.#options;
    metrics.cut(step);
    const { drainTimeoutSeconds } = effectiveAutoSuspension(sandbox.spec);
    if (step.cut > 0) events?.record(workCut(sandbox, step.cut, drainTimeoutSeconds));
    if (step.unasked > 0) events?.record(unaskedCut(sandbox, step.unasked));
  }

  /** False: the API server rejects it. The suspension continues, and after two more edits it counts as a person's. */
  async #renewCause(sandbox: Stored<Sandbox>, signal: AbortSignal): Promise<boolean> {
    try {
      await patchSandbox(sandbox, renewCausePatch(sandbox), this.#options, signal);
      return true;
    } catch (error) {
      if (!isRejected(error)) throw error;
      this.#options.events?.record(causeNotRenewed(sandbox, error.message));
      return false;
    }
  }

  /** Without its seal a suspension for inactivity is cancelled. A person's waits, and the status says for what. */
  async #seal(seen: Seen, step: Extract<SuspensionStep, { do: "seal" }>, signal: AbortSignal): Promise<void> {
    const { clock, metrics, rejections, sandboxes } = this.#options;
    const { sandbox } = seen;
    try {
      const isSealed = await patchSandbox(
        sandbox,
        sealPatch(sandbox, step.pod, step.cause, clock.now()),
        this.#options,
        signal,
      );
      if (!isSealed) return metrics.overtaken();
      rejections.forget(sandbox.metadata.uid);
      metrics.sealed(step.cause);
    } catch (error) {
      if (!isRejected(error)) throw error;
      if (!endsWithoutSeal(sandbox, step.cause)) throw rejectedSeal(error);
      if (sandboxes.get(keyOf(sandbox))?.metadata.uid === sandbox.metadata.uid) rejections.add(sandbox, error);
      await this.#write(
        seen,
        { do: "writeRunning", why: "the API server does not accept or keep the annotation of its seal" },
        signal,
      );
    }
  }
}
