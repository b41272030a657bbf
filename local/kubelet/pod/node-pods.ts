import type { Pod } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Change } from "../../../kube/informer/informer.ts";
import { runGuarded } from "../../../lib/guard/guard.ts";
import type { NodeServices } from "../node/node-services.ts";
import type { Scheduler } from "../node/scheduler.ts";
import { PodLife } from "./pod-life.ts";
import { isFinished } from "./pod-phase.ts";
import { PodRejections } from "./pod-rejections.ts";

/** The Pods of this node, by UID: another Pod may get the same name. */
export class NodePods {
  readonly #services: NodeServices;
  readonly #scheduler: Scheduler;
  readonly #lives = new Map<string, PodLife>();
  readonly #rejections: PodRejections;
  #suspended = false;

  constructor(services: NodeServices, scheduler: Scheduler) {
    this.#services = services;
    this.#scheduler = scheduler;
    this.#rejections = new PodRejections(services);
  }

  /** How many Pods have not ended: one that has ended takes no place until it is deleted. */
  get active(): number {
    return this.#lives.values().reduce((count, { isFinished }) => (isFinished ? count : count + 1), 0);
  }

  get(podUid: string): PodLife | undefined {
    return this.#lives.get(podUid);
  }

  /** Handles a change of one Pod. It is idempotent. */
  follow({ previous, current }: Pick<Change<Pod>, "previous" | "current">): void {
    if (this.#suspended) return;
    if (previous && previous.metadata.uid !== current?.metadata.uid) this.#remove(previous.metadata.uid);
    if (!current) return;
    const { metadata, spec } = current;
    const life = this.#lives.get(metadata.uid);
    if (life) life.update(current);
    else if (spec?.nodeName === this.#services.nodeName) this.#admit(current);
    else if (!spec?.nodeName && !metadata.deletionTimestamp) this.#scheduler.consider(current);
  }

  /** Takes a Pod that somebody bound to this node, as the scheduler does too, if there is a place. */
  #admit(pod: Stored<Pod>): void {
    const { uid, deletionTimestamp } = pod.metadata;
    // What is deleted or has ended takes no place, and is only to be removed.
    if (deletionTimestamp || isFinished(pod.status?.phase)) return this.take(pod);
    if (this.#rejections.has(uid)) return;
    const { active } = this;
    if (active >= this.#services.podsMax) this.#rejections.outOfPods(pod, active);
    else this.take(pod);
  }

  /** Starts a Pod that is bound to this node, or will be by this call. */
  take(pod: Stored<Pod>): void {
    const { uid, deletionTimestamp } = pod.metadata;
    if (this.#lives.has(uid)) return;
    const life = new PodLife(this.#services, pod);
    this.#lives.set(uid, life);
    // The Pod was deleted while the runtime was down: only its termination is left.
    if (deletionTimestamp) life.update(pod);
    else life.begin();
  }

  /** Ends all processes at once; the Pods stay in the API server. */
  async suspend(limitMs: number): Promise<void> {
    this.#suspended = true;
    this.#rejections.stop();
    await Promise.all([...this.#lives.values()].map((life) => life.suspend(limitMs)));
  }

  #remove(podUid: string): void {
    this.#scheduler.forget(podUid);
    this.#rejections.forget(podUid);
    const life = this.#lives.get(podUid);
    if (!life) return;
    runGuarded("kubelet", () => life.removed().finally(() => this.#lives.delete(podUid)));
  }
}
