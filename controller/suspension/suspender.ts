import { podType } from "../../api/core.ts";
import { effectiveAutoSuspension, effectiveOperatingMode } from "../../api/defaults.ts";
import type { SandboxIdentity } from "../../api/drain-protocol.ts";
import { keyFor, keyOf, type Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import { sealOf } from "../../api/suspension.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { OwnWrites } from "../own-writes.ts";
import { ownershipOf } from "../ownership.ts";
import { isExpired } from "../sandbox/expiry.ts";
import { findPod } from "../sandbox/find-pod.ts";
import type { Observed } from "../sandbox/observed.ts";
import { decideSuspension, type OwnPod, type Round, type SuspensionStep } from "./decide-suspension.ts";
import { calledOff, workCut } from "./happenings.ts";
import { runningPatch, type SandboxPatch, sealPatch, unsealPatch } from "./patches.ts";
import type { Reply } from "./replies.ts";
import { SealAges } from "./seal-ages.ts";
import type { SuspensionMetrics } from "./suspension-metrics.ts";

/** Puts the questions of the handshake to every activator; rejects when they cannot be listed. */
export interface Askers {
  observed(
    about: { readonly sandbox: SandboxIdentity; readonly podUid: string; readonly generation: number },
    signal: AbortSignal,
  ): Promise<readonly Reply[]>;
  promises(
    about: { readonly sandbox: SandboxIdentity; readonly podUid: string },
    signal: AbortSignal,
  ): Promise<readonly Reply[]>;
}

export interface SuspenderOptions {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly pods: OwnWrites<Pod, "sandboxHash">;
  /** Undefined where no activators are configured: then only what a seal has begun is carried out. */
  readonly askers: Askers | undefined;
  readonly events: EventRecorder | undefined;
  readonly metrics: SuspensionMetrics;
  readonly clock: Clock;
  /** A suspension was called off: whoever asked for it should not ask again at once. */
  readonly onCalledOff: (key: string) => void;
}

/** How far the suspension of a sandbox has come in this pass. */
export type Standing =
  /** It is not suspended by a handshake: it runs, or nobody stands in front of it. */
  | { readonly is: "none" }
  | { readonly is: "underWay"; readonly recheckAfterMs: number | undefined }
  /** The status may say `Suspended`, of this generation and no other. */
  | { readonly is: "carriedOut"; readonly generation: number | undefined };

type Seen = Pick<Observed, "sandbox" | "pods">;

/** A pass takes no more steps than that; every one of them is undone or superseded by others only so often. */
const stepsMax = 20;
const goOnAfterMs = 100;

/** Takes one step of the handshake after another, each decided on what is there by then. */
export class Suspender {
  readonly #options: SuspenderOptions;
  readonly #sealAges = new SealAges();

  constructor(options: SuspenderOptions) {
    this.#options = options;
  }

  /**
   * Goes on with the suspension of a sandbox for as long as there is something to do now. `look` shows the sandbox as it
   * is after each step; undefined once it is gone.
   *
   * @throws what `KubeClient` throws; the next pass goes on from there.
   */
  async suspend(look: () => Seen | undefined, signal: AbortSignal): Promise<Standing> {
    let round: Round | undefined;
    let fresh: { readonly pod: OwnPod | undefined } | undefined;
    for (let count = 0; count < stepsMax; count += 1) {
      const seen = look();
      if (!seen || !this.#handles(seen)) return { is: "none" };
      const step = this.#decide(seen, fresh, round);
      fresh = undefined;
      if (step.do === "nothing") return { is: "none" };
      if (step.do === "tellSuspended") return { is: "carriedOut", generation: seen.sandbox.metadata.generation };
      if (step.do === "wait") return { is: "underWay", recheckAfterMs: step.recheckAfterMs };
      if (step.do === "readPod") fresh = { pod: await this.#readPod(seen.sandbox, step.podName, signal) };
      else if (step.do === "askObserved" || step.do === "askPromises") round = await this.#ask(seen, step, signal);
      else {
        round = undefined;
        await this.#write(seen, step, signal);
      }
    }
    return { is: "underWay", recheckAfterMs: goOnAfterMs };
  }

  /**
   * Whether what is seen now waits for a handshake to go on, when this is how far the pass has come. A wish that came
   * after the last step waits for the next pass, and a Pod that a store still shows is not deleted on its word.
   */
  isPending(seen: Seen, standing: Standing): boolean {
    const { sandbox } = seen;
    if (!this.#handles(seen) || effectiveOperatingMode(sandbox.spec) === "Running") return false;
    const over = standing.is === "carriedOut" && standing.generation === sandbox.metadata.generation;
    return !over || ownPodOf(seen) !== undefined;
  }

  /** An expired sandbox loses its Pod whatever is carried, and of several Pods nobody knows which to keep. */
  #handles({ sandbox, pods }: Seen): boolean {
    if (isExpired(sandbox, this.#options.clock.now()) || findPod({ sandbox, pods }).found === "several") return false;
    return this.#options.askers !== undefined || sealOf(sandbox) !== undefined;
  }

  #decide(seen: Seen, fresh: { readonly pod: OwnPod | undefined } | undefined, round: Round | undefined) {
    const { clock } = this.#options;
    const now = clock.now();
    const seal = sealOf(seen.sandbox);
    return decideSuspension({
      sandbox: seen.sandbox,
      pod: fresh ? fresh.pod : ownPodOf(seen),
      podIsFresh: fresh !== undefined,
      round,
      sealedForMs: seal ? this.#sealAges.ageMs(seal, now, clock.ticksMs()) : 0,
      now,
    });
  }

  async #readPod(sandbox: Stored<Sandbox>, name: string, signal: AbortSignal): Promise<OwnPod | undefined> {
    const { client, pods } = this.#options;
    const { namespace } = sandbox.metadata;
    try {
      const read = () => client.get(podType, { namespace, name }, signal);
      const pod = await pods.write(keyFor(namespace, name), read);
      return ownershipOf(pod, sandbox) === "owned" ? asOwnPod(pod) : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #ask(
    { sandbox }: Seen,
    step: Extract<SuspensionStep, { do: "askObserved" | "askPromises" }>,
    signal: AbortSignal,
  ): Promise<Round> {
    const { askers } = this.#options;
    const { namespace = "", name, uid } = sandbox.metadata;
    const identity = { namespace, name, uid };
    const { podUid } = step;
    if (step.do === "askPromises") {
      const replies = (await askers?.promises({ sandbox: identity, podUid }, signal)) ?? [];
      return { asked: "promise", podUid, replies };
    }
    const { generation } = step;
    const replies = (await askers?.observed({ sandbox: identity, podUid, generation }, signal)) ?? [];
    return { asked: "observed", podUid, generation, replies };
  }

  async #write(
    { sandbox, pods }: Seen,
    step: Extract<SuspensionStep, { do: "seal" | "unseal" | "writeRunning" | "deletePod" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { metrics, events, clock, onCalledOff } = this.#options;
    switch (step.do) {
      case "seal":
        if (await this.#patch(sandbox, sealPatch(sandbox, step.pod, step.cause, clock.now()), signal)) {
          metrics.sealed(step.cause);
        } else metrics.overtaken();
        return;
      case "writeRunning":
        if (await this.#patch(sandbox, runningPatch(sandbox), signal)) {
          metrics.calledOff();
          events?.record(calledOff(sandbox, step.why));
          onCalledOff(keyOf(sandbox));
        } else metrics.overtaken();
        return;
      case "unseal":
        if (await this.#patch(sandbox, unsealPatch(sandbox), signal)) this.#sealAges.forget(step.podUid);
        return;
      case "deletePod": {
        const pod = pods.find(({ metadata }) => metadata.uid === step.podUid);
        if (!pod || !(await this.#deletePod(pod, signal))) return;
        const seal = sealOf(sandbox);
        const sealedForMs = seal ? this.#sealAges.ageMs(seal, clock.now(), clock.ticksMs()) : 0;
        metrics.carriedOut(seal?.cause ?? "Person", sealedForMs, step.cut);
        const { drainTimeoutSeconds } = effectiveAutoSuspension(sandbox.spec);
        if (step.cut > 0) events?.record(workCut(sandbox, step.cut, drainTimeoutSeconds));
      }
    }
  }

  /** Whether the write was made. When another came first, its result is in view afterwards. */
  async #patch(sandbox: Stored<Sandbox>, body: SandboxPatch, signal: AbortSignal): Promise<boolean> {
    const { client, sandboxes } = this.#options;
    const { namespace, name } = sandbox.metadata;
    const key = keyOf(sandbox);
    try {
      await sandboxes.write(key, () =>
        client.patch(sandboxType, { namespace, name }, { type: "merge", body }, {}, signal),
      );
      return true;
    } catch (error) {
      if (!isConflict(error)) throw error;
      await sandboxes.write(key, () => client.get(sandboxType, { namespace, name }, signal));
      return false;
    }
  }

  /** Whether this Pod, and no other of its name, was there to be deleted. */
  async #deletePod(pod: Stored<Pod>, signal: AbortSignal): Promise<boolean> {
    const { client, pods } = this.#options;
    const { namespace, name, uid } = pod.metadata;
    let deleted = true;
    await pods.delete(pod, async () => {
      try {
        await client.delete(podType, { namespace, name }, { preconditions: { uid } }, signal);
      } catch (error) {
        // It is gone: seen as on its way, it is waited for until the watch tells so.
        if (!isNotFound(error) && !isConflict(error)) throw error;
        deleted = false;
      }
    });
    return deleted;
  }
}

const asOwnPod = ({ metadata }: Stored<Pod>): OwnPod => ({
  name: metadata.name,
  uid: metadata.uid,
  terminating: metadata.deletionTimestamp !== undefined,
});

function ownPodOf(seen: Seen): OwnPod | undefined {
  const found = findPod(seen);
  return found.found === "owned" ? asOwnPod(found.pod) : undefined;
}
