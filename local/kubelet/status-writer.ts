import { isDeepStrictEqual } from "node:util";
import { type Pod, type PodStatus, podType } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { KubeClient, Patch } from "../../kube/client.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import { type Backoff, backoffDelayMs } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";

export interface StatusWriterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pod: Stored<Pod>;
  readonly nodeName: string;
  /** The status as it is now. */
  readonly make: () => PodStatus;
  /** Called when the API server knows that a Pod is on this node that was on none before. */
  readonly bound: () => void;
}

const backoff: Backoff = { baseMs: 50, maxMs: 5_000, jitter: 0.2 };

/**
 * Tells the API server where a Pod runs and how it is. One write is under way at a time, and what changes meanwhile
 * goes into the next one together; nothing is written that has not changed. Nobody has to wait for it.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #stop = new AbortController();
  #bound: boolean;
  #dirty = false;
  #written: PodStatus | undefined;
  #writing: Promise<void> = Promise.resolve();
  #active = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#bound = options.pod.spec?.nodeName !== undefined;
  }

  /** What was written last; the times of conditions go on from there. */
  get written(): PodStatus | undefined {
    return this.#written ?? this.#options.pod.status;
  }

  /** The status is not what was written any more. */
  changed(): void {
    this.#dirty = true;
    if (this.#active || this.#stop.signal.aborted) return;
    this.#active = true;
    this.#writing = this.#write().finally(() => {
      this.#active = false;
    });
  }

  /** Resolves when everything that changed so far is written, or never can be. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Writes nothing any more. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the Pod's status is no longer written"));
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stop;
    for (let failures = 0; this.#dirty && !signal.aborted; ) {
      try {
        await this.#writeOnce();
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        // The Pod is gone, or another one has its name by now. The informer will tell the same.
        if (isNotFound(error) || isConflict(error)) return this.#stop.abort(error);
        failures += 1;
        log.warn({ err: error, failures }, "a Pod's status is not written yet");
        this.#dirty = true;
        await clock.sleep(backoffDelayMs(failures, backoff), signal).catch(() => {});
      }
    }
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
    if (isDeepStrictEqual(status, this.#written)) return;
    await patch({ type: "strategic", body: { metadata: { uid }, status: forPatch(status) } }, "status");
    this.#written = status;
  }
}

// A strategic merge leaves what a patch does not name, so what a condition no longer has must be taken away by name.
function forPatch(status: PodStatus): object {
  return {
    ...status,
    conditions: status.conditions?.map((condition) => ({ reason: null, message: null, ...condition })),
  };
}
