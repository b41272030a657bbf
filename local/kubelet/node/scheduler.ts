import { type PersistentVolumeClaim, type Pod, podType } from "../../../api/kinds/core.ts";
import { keyFor, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isOfAnotherObject } from "../../../kube/client/errors.ts";
import type { EventRecorder } from "../../../kube/events/event-recorder.ts";
import type { Store } from "../../../kube/informer/informer.ts";
import { reportUnexpected, runGuarded } from "../../../lib/guard/guard.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { type Running, startTask } from "../../../lib/process/lifecycle.ts";
import type { Backoff } from "../../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { pieceFromNow } from "../../../lib/time/piece.ts";
import { nextTurn } from "../../../lib/time/yielding.ts";
import { secondsTime } from "../container/container-state.ts";
import { machineHasProgram } from "../process/machine-programs.ts";
import { refusalToSchedule, type SchedulingRefusal } from "./schedule.ts";

export interface SchedulerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: EventRecorder;
  readonly pods: Store<Pod>;
  readonly claims: Store<PersistentVolumeClaim>;
  /** The PATH that containers inherit. */
  readonly inheritedPath: string;
  /** The number of Pods on the node that have not ended. */
  readonly podsOnNode: () => number;
  readonly podsMax: number;
  /** Binds a Pod to this node, also in the API server. */
  readonly assign: (pod: Stored<Pod>) => void;
}

// Programs can be installed at any moment, without a notification.
const checkAgainMs = 3_000;
// A claim that was created before its Pod may be seen after it. This is not worth a report.
const reportAfterMs = 100;
/** The checks of all waiting Pods take so long of one turn of the event loop. */
const turnMs = 10;

/** Binds Pods to the node, or writes into their status why they do not fit. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  /** Pods without a node, by UID, with the reported reason. */
  readonly #waiting = new Map<string, SchedulingRefusal>();
  /** Of the checks of all waiting Pods. */
  #isChecking = false;
  #isDue = false;
  #isOver = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Decides at once about a Pod without a node. */
  consider(pod: Stored<Pod>): void {
    const { claims, inheritedPath, podsOnNode, podsMax, assign } = this.#options;
    const { namespace, uid } = pod.metadata;
    const refusal = refusalToSchedule({
      pod,
      podsOnNode: podsOnNode(),
      podsMax,
      hasProgram: (container) => machineHasProgram(container, inheritedPath),
      hasClaim: (claim) => claims.get(keyFor(namespace, claim)) !== undefined,
    });
    if (refusal) return this.#refuse(pod, refusal);
    this.#waiting.delete(uid);
    assign(pod);
  }

  forget(podUid: string): void {
    this.#waiting.delete(podUid);
  }

  /** Checks all waiting Pods again after a change, in turns of the event loop: each check looks for programs on the disk. */
  checkAgain(): void {
    this.#isDue = true;
    if (this.#isChecking) return;
    this.#isChecking = true;
    runGuarded("kubelet", () => this.#checkWaiting());
  }

  async #checkWaiting(): Promise<void> {
    while (this.#isDue && !this.#isOver) {
      this.#isDue = false;
      try {
        await this.#checkEach();
      } catch (error) {
        reportUnexpected("kubelet", error);
      }
    }
    this.#isChecking = false;
  }

  async #checkEach(): Promise<void> {
    const { clock, pods } = this.#options;
    let isPieceOver = pieceFromNow(clock, turnMs);
    const all = pods.list();
    for (const listed of all) {
      // One Pod that cannot be decided about must not keep the others waiting.
      try {
        if (isPieceOver()) {
          await nextTurn();
          isPieceOver = pieceFromNow(clock, turnMs);
        }
        if (this.#isOver) return;
        // It may have changed meanwhile.
        const pod = pods.get(keyOf(listed));
        if (pod && this.#waiting.has(pod.metadata.uid) && !pod.metadata.deletionTimestamp) this.consider(pod);
      } catch (error) {
        reportUnexpected("kubelet", error);
      }
    }
  }

  /** Checks again every few seconds while a Pod waits. */
  start(): Running {
    const { clock } = this.#options;
    const backoff: Backoff = { baseMs: checkAgainMs, maxMs: 60_000, jitter: 0.2 };
    const round = async () => {
      if (this.#waiting.size > 0) this.checkAgain();
      return checkAgainMs;
    };
    const onFailure = (error: unknown) => void reportUnexpected("kubelet", error);
    const repetition = { clock, backoff, firstInMs: checkAgainMs, round, onFailure };
    return startTask("the scheduler", async (signal) => {
      await repeatUntilDone({ ...repetition, signal }).finally(() => {
        this.#isOver = true;
      });
    });
  }

  #refuse(pod: Stored<Pod>, refusal: SchedulingRefusal): void {
    const { uid } = pod.metadata;
    const known = this.#waiting.get(uid);
    if (known?.message === refusal.message) return;
    this.#waiting.set(uid, refusal);
    this.#options.clock.after(reportAfterMs, () => {
      if (this.#waiting.get(uid) === refusal) this.#report(pod, refusal);
    });
  }

  #report(pod: Stored<Pod>, refusal: SchedulingRefusal): void {
    if (refusal.reason === "Unschedulable") {
      const note = refusal.message;
      const event = { type: "Warning", reason: "FailedScheduling", action: "Scheduling", note } as const;
      this.#options.events.record({ regarding: pod, ...event });
    }
    runGuarded("kubelet", () => this.#write(pod, refusal));
  }

  async #write(pod: Stored<Pod>, { reason, message }: SchedulingRefusal): Promise<void> {
    const { client, clock, log } = this.#options;
    const { namespace, name, uid } = pod.metadata;
    const lastTransitionTime = secondsTime(clock.now());
    const condition = { type: "PodScheduled", status: "False", reason, message, lastTransitionTime };
    const body = { metadata: { uid }, status: { phase: "Pending", conditions: [condition] } };
    try {
      await client.patch(podType, { namespace, name }, { type: "strategic", body }, { subresource: "status" });
    } catch (error) {
      if (isOfAnotherObject(error) || !this.#waiting.has(uid)) return;
      log.warn({ err: error, pod: name }, "could not report why a Pod has no node; retrying");
      // Checked again soon, and then reported again.
      this.#waiting.set(uid, { reason, message: "" });
    }
  }
}
