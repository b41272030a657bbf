import { type PersistentVolumeClaim, type Pod, podType } from "../../api/core.ts";
import { keyFor, type Stored } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Store } from "../../kube/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Running, startTask } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { secondsTime } from "./container-state.ts";
import { machineHasProgram } from "./machine-programs.ts";
import { refusalToSchedule, type SchedulingRefusal } from "./schedule.ts";

export interface SchedulerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: EventRecorder;
  readonly pods: Store<Pod>;
  readonly claims: Store<PersistentVolumeClaim>;
  /** The search path for programs that containers inherit. */
  readonly inheritedPath: string;
  /** How many Pods the node has now. */
  readonly podsOnNode: () => number;
  /** Takes a Pod in. It also tells the API server that the Pod is on this node now. */
  readonly assign: (pod: Stored<Pod>) => void;
}

// A program may be installed at any moment, and nothing tells of it.
const lookAgainMs = 3_000;
// A claim that was created before its Pod may be heard of after it, which is no news for anybody.
const tellAfterMs = 100;

/** Gives Pods to the one node that there is, or says on them why they cannot have it. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  /** Pods that have no node, by UID, with what was told about it. */
  readonly #waiting = new Map<string, SchedulingRefusal>();

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Decides at once about a Pod that has no node. */
  consider(pod: Stored<Pod>): void {
    const { claims, inheritedPath, podsOnNode, assign } = this.#options;
    const { namespace, uid } = pod.metadata;
    const refusal = refusalToSchedule({
      pod,
      podsOnNode: podsOnNode(),
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

  /** Something came that Pods may have waited for. */
  lookAgain(): void {
    for (const pod of this.#options.pods.list()) {
      if (this.#waiting.has(pod.metadata.uid) && !pod.metadata.deletionTimestamp) this.consider(pod);
    }
  }

  /** Looks again every few seconds while a Pod waits. */
  start(): Running {
    const { clock } = this.#options;
    return startTask("the scheduler", async (signal) => {
      while (!signal.aborted) {
        await clock.sleep(lookAgainMs, signal).catch(() => {});
        if (!signal.aborted && this.#waiting.size > 0) this.lookAgain();
      }
    });
  }

  #refuse(pod: Stored<Pod>, refusal: SchedulingRefusal): void {
    const { uid } = pod.metadata;
    const known = this.#waiting.get(uid);
    if (known?.message === refusal.message) return;
    this.#waiting.set(uid, refusal);
    this.#options.clock.after(tellAfterMs, () => {
      if (this.#waiting.get(uid) === refusal) this.#tell(pod, refusal);
    });
  }

  #tell(pod: Stored<Pod>, refusal: SchedulingRefusal): void {
    if (refusal.reason === "Unschedulable") {
      const note = refusal.message;
      const happening = { type: "Warning", reason: "FailedScheduling", action: "Scheduling", note } as const;
      this.#options.events.record({ regarding: pod, ...happening });
    }
    void this.#write(pod, refusal);
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
      if (isNotFound(error) || isConflict(error)) return;
      log.warn({ err: error, pod: name }, "could not say why a Pod has no node");
      // Looked at again soon, and then it is news once more.
      this.#waiting.set(uid, { reason, message: "" });
    }
  }
}
