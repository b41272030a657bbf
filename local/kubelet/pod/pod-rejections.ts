import { type Pod, podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { isOfAnotherObject } from "../../../kube/client/errors.ts";
import { runGuarded } from "../../../lib/guard/guard.ts";
import type { Backoff } from "../../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../../lib/queues/repeat-until-done.ts";
import { secondsTime } from "../container/container-state.ts";
import type { NodeServices } from "../node/node-services.ts";

const backoff: Backoff = { baseMs: 200, maxMs: 30_000, jitter: 0.2 };

/** Pods that somebody bound to this node, and that it does not take: as with a kubelet, they have failed before they ran. */
export class PodRejections {
  readonly #services: NodeServices;
  readonly #stop = new AbortController();
  /** By UID, until the Pod is gone: also a view from before the rejection must not start it. */
  readonly #rejected = new Set<string>();

  constructor(services: NodeServices) {
    this.#services = services;
  }

  has(podUid: string): boolean {
    return this.#rejected.has(podUid);
  }

  forget(podUid: string): void {
    this.#rejected.delete(podUid);
  }

  /** The node has no place for the Pod. */
  outOfPods(pod: Stored<Pod>, podsOnNode: number): void {
    const { events, podsMax } = this.#services;
    this.#rejected.add(pod.metadata.uid);
    const reason = "OutOfpods";
    const note = `Node didn't have enough resource: pods, requested: 1, used: ${podsOnNode}, capacity: ${podsMax}`;
    events.record({ regarding: pod, type: "Warning", reason, action: reason, note });
    runGuarded("kubelet", () => this.#write(pod, { reason, message: `Pod was rejected: ${note}` }));
  }

  /** Stops all writes. The next start decides anew. */
  stop(): void {
    this.#stop.abort(new Error("the runtime stops"));
  }

  async #write(pod: Stored<Pod>, why: { readonly reason: string; readonly message: string }): Promise<void> {
    const { client, clock, log } = this.#services;
    const { namespace, name, uid } = pod.metadata;
    const status = { phase: "Failed", ...why, startTime: secondsTime(clock.now()) };
    const patch = { type: "strategic", body: { metadata: { uid }, status } } as const;
    const round = async (signal: AbortSignal) => {
      if (!this.#rejected.has(uid)) return undefined;
      await client
        .patch(podType, { namespace, name }, patch, { subresource: "status" }, signal)
        .catch((error: unknown) => {
          if (!isOfAnotherObject(error)) throw error;
        });
      return undefined;
    };
    const onFailure = (err: unknown, failures: number) => {
      log.warn({ err, pod: `${namespace}/${name}`, failures }, "could not report why a Pod was rejected; retrying");
      return undefined;
    };
    await repeatUntilDone({ clock, signal: this.#stop.signal, backoff, round, onFailure });
  }
}
