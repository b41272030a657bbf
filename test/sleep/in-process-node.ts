import { setTimeout as delay } from "node:timers/promises";
import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod, PodStatus } from "../../api/kinds/pod.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { nextLoopbackAddress } from "../support/sockets/loopback-address.ts";
import { Ledger } from "./ledger.ts";
import { RawWorkload } from "./raw-workload.ts";
import { Workload } from "./workload.ts";

/** The durations of a Pod, in milliseconds. */
export interface PodTimes {
  /** From its creation until it has an address. */
  readonly scheduleMs: number;
  /** From then on until its port is open. */
  readonly startMs: number;
  /** From its deletion until it is gone. */
  readonly endMs: number;
}

/** A server on one port of a Pod. When it is disposed of, it ends at once, and open requests are cut. */
export interface PodProgram extends AsyncDisposable {
  listen(host: string): Promise<void>;
}

export interface RunningPod {
  readonly uid: string;
  /** The ledger of the node. */
  readonly ledger: Ledger;
}

/** The workloads of a Pod without programs of its own: with HTTP/1.1, and without HTTP. */
export const usualPrograms = ({ uid, ledger }: RunningPod): readonly PodProgram[] => [
  new Workload(uid, ledger),
  new RawWorkload(uid, ledger),
];

export interface InProcessNodeOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** The programs of a Pod; absent: the usual workloads, which record in the ledger. */
  readonly programs?: (pod: RunningPod) => readonly PodProgram[];
  /** Called for each Pod. */
  readonly times?: (podName: string) => PodTimes;
}

const quick: PodTimes = { scheduleMs: 5, startMs: 5, endMs: 5 };

/** A node whose Pods are servers in this process. Hundreds of them cost little, and all record in one ledger. */
export class InProcessNode implements AsyncDisposable {
  readonly ledger = new Ledger();
  readonly #options: InProcessNodeOptions;
  readonly #running = new Map<string, readonly PodProgram[]>();
  readonly #begun = new Set<string>();
  readonly #ending = new Set<string>();
  readonly #work = new Set<Promise<void>>();
  readonly #informer;

  constructor(options: InProcessNodeOptions) {
    this.#options = options;
    const { client, namespace } = options;
    const pods = { client, type: podType, namespace, indexes: {}, clock: systemClock, log: silentLogger };
    this.#informer = startInformer<Pod>(pods);
    this.#informer.onChange(({ current, previous }) => {
      const pod = current ?? previous;
      if (pod) this.#see(pod, current === undefined);
    });
  }

  /** The number of running Pods. */
  get size(): number {
    return this.#running.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#informer[Symbol.asyncDispose]();
    await Promise.all(this.#work);
    await Promise.all([...this.#running.values()].flat().map((workload) => workload[Symbol.asyncDispose]()));
  }

  #see(pod: Stored<Pod>, gone: boolean): void {
    const { uid, deletionTimestamp } = pod.metadata;
    const isOver = gone || deletionTimestamp !== undefined;
    const book = isOver ? this.#ending : this.#begun;
    if (book.has(uid)) return;
    book.add(uid);
    const handled = (isOver ? this.#end(pod) : this.#start(pod)).catch((error: unknown) => {
      // The Pod may have been deleted meanwhile.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
    this.#work.add(handled);
    void handled.finally(() => this.#work.delete(handled));
  }

  async #start(pod: Stored<Pod>): Promise<void> {
    const { uid, name } = pod.metadata;
    const { scheduleMs, startMs } = this.#timesOf(name);
    await delay(scheduleMs);
    const podIP = nextLoopbackAddress();
    const startTime = systemClock.now().toISOString();
    const status: PodStatus = { phase: "Running", podIP, podIPs: [{ ip: podIP }], startTime };
    await this.#report(pod, { ...status, conditions: [{ type: "Ready", status: "False" }] });
    await delay(startMs);
    if (this.#ending.has(uid)) return;
    const workloads = (this.#options.programs ?? usualPrograms)({ uid, ledger: this.ledger });
    this.#running.set(uid, workloads);
    await Promise.all(workloads.map((workload) => workload.listen(podIP)));
    await this.#report(pod, { ...status, conditions: [{ type: "Ready", status: "True" }] });
  }

  async #end(pod: Stored<Pod>): Promise<void> {
    const { uid, name, namespace } = pod.metadata;
    const workloads = this.#running.get(uid) ?? [];
    this.#running.delete(uid);
    await Promise.all(workloads.map((workload) => workload[Symbol.asyncDispose]()));
    await delay(this.#timesOf(name).endMs);
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    await this.#options.client.delete(podType, { namespace, name }, options);
    this.#begun.delete(uid);
    this.#ending.delete(uid);
  }

  #timesOf(podName: string): PodTimes {
    return this.#options.times?.(podName) ?? quick;
  }

  async #report({ metadata: { uid, name, namespace } }: Stored<Pod>, status: PodStatus): Promise<void> {
    const body = { metadata: { uid }, status };
    const patch = { type: "merge", body } as const;
    await this.#options.client.patch(podType, { namespace, name }, patch, { subresource: "status" });
  }
}
