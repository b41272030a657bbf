import { isDeepStrictEqual } from "node:util";
import { type Pod, type PodStatus, podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient, Patch } from "../../../kube/client/client.ts";
import { isOfAnotherObject } from "../../../kube/client/errors.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Backoff } from "../../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../../lib/time/clock.ts";

export interface StatusWriterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pod: Stored<Pod>;
  readonly nodeName: string;
  /** The current status. */
  readonly make: () => PodStatus;
  /** Called once the API server has bound the Pod to this node. */
  readonly bound: () => void;
}

const backoff: Backoff = { baseMs: 50, maxMs: 5_000, jitter: 0.2 };

/**
 * Writes the node and the status of a Pod to the API server. One write is in flight at a time. Changes meanwhile are
 * combined into the next one. An unchanged status is not written, and no caller has to wait.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #stop = new AbortController();
  #bound: boolean;
  #dirty = false;
  #written: PodStatus | undefined;
  /** The answer to the last write, and the Pod as it was seen last. */
  #stored: Stored<Pod> | undefined;
  #seen: Stored<Pod> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #active = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#bound = options.pod.spec?.nodeName !== undefined;
  }

  /** The last written status; the times of conditions continue from it. */
  get written(): PodStatus | undefined {
    return this.#written ?? this.#options.pod.status;
  }

  /** The status may have changed. */
  changed(): void {
    this.#dirty = true;
    if (this.#active || this.#stop.signal.aborted) return;
    this.#active = true;
    this.#writing = this.#write();
  }

  /** The Pod has changed in the API server. A status that another client has changed is written again, as by a kubelet. */
  seen(pod: Stored<Pod>): void {
    this.#seen = pod;
    if (!this.#active && this.#isForeign()) this.changed();
  }

  /** Resolves when all changes so far are written, or cannot be written any more. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Resolves when all changes so far are written, but at the latest after this time, and stops all writes. */
  async finish(limitMs: number): Promise<void> {
    using _ = this.#options.clock.after(limitMs, () => void this.close());
    await this.settled();
    await this.close();
  }

  /** Stops all writes. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the Pod's status is no longer written"));
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stop;
    const round = async () => {
      await this.#writeOnce();
      return this.#dirty ? 0 : undefined;
    };
    const onFailure = (error: unknown, failures: number) => {
      // The Pod is deleted, or another one has its name. The informer will report it.
      if (isOfAnotherObject(error)) this.#stop.abort(error);
      else log.warn({ err: error, failures }, "could not write the status of a Pod; retrying");
      return undefined;
    };
    // A change may come between the end of the last round and that of the repetition.
    while (this.#dirty && !signal.aborted) await repeatUntilDone({ clock, signal, backoff, round, onFailure });
    this.#active = false;
  }

  async #writeOnce(): Promise<void> {
    const { client, pod, nodeName, make, bound } = this.#options;
    const { name, namespace, uid } = pod.metadata;
    const patch = (patch: Patch, subresource?: "status") =>
      client.patch(podType, { namespace, name }, patch, subresource ? { subresource } : {}, this.#stop.signal);
    if (!this.#bound) {
      await patch({ type: "merge", body: { metadata: { uid }, spec: { nodeName } } });
      this.#bound = true;
      bound();
    }
    this.#dirty = false;
    const status = make();
    if (isDeepStrictEqual(status, this.#written) && !this.#isForeign()) return;
    const body = { metadata: { uid }, status: forPatch(status) };
    this.#stored = await patch({ type: "strategic", body }, "status");
    this.#written = status;
    if (this.#isForeign()) this.#dirty = true;
  }

  #isForeign(): boolean {
    if (!this.#seen || !this.#stored) return false;
    const isNewer = Number(this.#seen.metadata.resourceVersion) > Number(this.#stored.metadata.resourceVersion);
    return isNewer && !isDeepStrictEqual(this.#seen.status, this.#stored.status);
  }
}

// A strategic merge keeps fields that a patch does not name, so fields that a condition has lost must be set to null.
function forPatch(status: PodStatus): object {
  return {
    ...status,
    conditions: status.conditions?.map((condition) => ({ reason: null, message: null, ...condition })),
  };
}
