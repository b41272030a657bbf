import { effectiveAutoSuspension } from "../../api/defaults.ts";
import { keyOf } from "../../api/meta.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import type { OwnWrites } from "../own-writes.ts";
import { findPod } from "../sandbox/find-pod.ts";
import type { Observed } from "../sandbox/observed.ts";
import { askWorkload } from "./ask-workload.ts";
import { judgeProbe, probeAgainMs } from "./busy-probe.ts";
import { idled } from "./happenings.ts";
import type { Idleness } from "./idleness.ts";
import { intentPatch } from "./patches.ts";

export interface FallAsleepOptions {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly events: EventRecorder | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

type Seen = Pick<Observed, "sandbox" | "pods">;

/** How soon a sandbox that was changed by another is looked at again. */
const changedAgainMs = 100;

/** Asks for the suspension of sandboxes that are idle, unless their workload says that it is busy. */
export class FallAsleep {
  readonly #options: FallAsleepOptions;
  /** Since when workloads have said in a row that they are busy, by sandbox; monotonic. */
  readonly #busySinceMs = new Map<string, number>();

  constructor(options: FallAsleepOptions) {
    this.#options = options;
  }

  /**
   * Returns after how many milliseconds to look again; undefined when a change of the sandbox tells.
   *
   * @throws what `KubeClient` throws.
   */
  async tryTo(
    key: string,
    look: () => Seen | undefined,
    idlenessNow: () => Idleness | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const before = look();
    if (!before || idlenessNow()?.is !== "idle") return 0;
    if (await this.#isBusy(key, before, signal)) return probeAgainMs;
    // What was decided on is what the write depends on.
    const seen = look();
    const idleness = idlenessNow();
    if (!seen || idleness?.is !== "idle") return 0;
    return (await this.#ask(seen.sandbox, idleness.forMs, signal)) ? undefined : changedAgainMs;
  }

  forget(key: string): void {
    this.#busySinceMs.delete(key);
  }

  async #isBusy(key: string, { sandbox, pods }: Seen, signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    const { busyProbe } = effectiveAutoSuspension(sandbox.spec);
    const found = findPod({ sandbox, pods });
    if (!busyProbe || found.found !== "owned") return false;
    const answer = await askWorkload(busyProbe.httpGet, { sandbox, pod: found.pod }, clock, signal);
    const verdict = judgeProbe(answer, this.#busySinceMs.get(key), busyProbe.limitSeconds, clock.ticksMs());
    if (verdict.busySinceMs === undefined || verdict.maySleep) this.#busySinceMs.delete(key);
    else this.#busySinceMs.set(key, verdict.busySinceMs);
    if (verdict.overruled) log.warn({ key }, "a workload has said for too long that it is busy");
    return !verdict.maySleep;
  }

  /** Whether the suspension was asked for. */
  async #ask(sandbox: Observed["sandbox"], idleForMs: number, signal: AbortSignal): Promise<boolean> {
    const { client, sandboxes, events } = this.#options;
    const { namespace, name } = sandbox.metadata;
    const body = intentPatch(sandbox);
    const write = () => client.patch(sandboxType, { namespace, name }, { type: "merge", body }, {}, signal);
    try {
      await sandboxes.write(keyOf(sandbox), write);
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
    events?.record(idled(sandbox, idleForMs));
    return true;
  }
}
