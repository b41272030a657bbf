import type { Pod } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { Change } from "../../kube/informer.ts";
import type { NodeServices } from "./node-services.ts";
import { PodLife } from "./pod-life.ts";
import type { Scheduler } from "./scheduler.ts";

/** The Pods that this node has, each by its UID: a name may belong to another Pod a moment later. */
export class NodePods {
  readonly #services: NodeServices;
  readonly #scheduler: Scheduler;
  readonly #lives = new Map<string, PodLife>();
  #suspended = false;

  constructor(services: NodeServices, scheduler: Scheduler) {
    this.#services = services;
    this.#scheduler = scheduler;
  }

  get size(): number {
    return this.#lives.size;
  }

  get(podUid: string): PodLife | undefined {
    return this.#lives.get(podUid);
  }

  /** Looks at what became of one Pod. Doing so twice does no harm. */
  follow({ previous, current }: Pick<Change<Pod>, "previous" | "current">): void {
    if (this.#suspended) return;
    if (previous && previous.metadata.uid !== current?.metadata.uid) this.#remove(previous.metadata.uid);
    if (!current) return;
    const { metadata, spec } = current;
    const life = this.#lives.get(metadata.uid);
    if (life) life.update(current);
    else if (spec?.nodeName === this.#services.nodeName) this.take(current);
    else if (!spec?.nodeName && !metadata.deletionTimestamp) this.#scheduler.consider(current);
  }

  /** Takes a Pod in that is on this node, or is to be from now on. */
  take(pod: Stored<Pod>): void {
    const { uid, deletionTimestamp } = pod.metadata;
    if (this.#lives.has(uid)) return;
    const life = new PodLife(this.#services, pod);
    this.#lives.set(uid, life);
    // It was deleted while nobody was here: there is only its end left.
    if (deletionTimestamp) life.update(pod);
    else life.begin();
  }

  /** Ends all processes together; the Pods stay in the API server. */
  async suspend(limitMs: number): Promise<void> {
    this.#suspended = true;
    await Promise.all([...this.#lives.values()].map((life) => life.suspend(limitMs)));
  }

  #remove(podUid: string): void {
    this.#scheduler.forget(podUid);
    const life = this.#lives.get(podUid);
    if (!life) return;
    void life.removed().finally(() => this.#lives.delete(podUid));
  }
}
