import { busyProbeMs, busyViewWaitMs } from "../../api/between-programs/drain-protocol.ts";
import { parseKey, type Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { effectiveAutoSuspension, effectiveOperatingMode } from "../../api/rules/defaults.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound, NotKept } from "../../kube/client/errors.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import { reportUnexpected } from "../../lib/guard/guard.ts";
import type { Logger } from "../../lib/log/log.ts";
import { FairTasks } from "../../lib/queues/fair-tasks.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { OwnWrites } from "../own-writes.ts";
import { findPod } from "../sandbox/find-pod.ts";
import type { Observed } from "../sandbox/observed.ts";
import { patchSandbox } from "../suspension/handshake/patch-sandbox.ts";
import { intentPatch, runningPatch } from "../suspension/handshake/patches.ts";
import type { Idleness } from "./decide-idle.ts";
import { idled, unanswered } from "./idle-events.ts";
import type { AskWorkload } from "./probe/ask-workload.ts";
import { judgeProbe, probeAgainMs } from "./probe/busy-probe.ts";

export interface SuspendIdleOptions {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly askWorkload: AskWorkload;
  readonly events: EventRecorder | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

type Seen = Pick<Observed, "sandbox" | "pods">;

/** Workloads that are asked at the same time: a socket each, for the seconds that an answer may take (`askWorkload`). */
const probesMax = { max: 128, maxOfGroup: 8 };
/** For how long the answer of a workload is valid. */
const allowanceMs = 5_000;

/** The delay of the next check of a sandbox that another client has changed. */
const changedAgainMs = 100;

/** What to ask, and where. */
interface Probe {
  readonly busyProbe: NonNullable<ReturnType<typeof effectiveAutoSuspension>["busyProbe"]>;
  readonly sandbox: Stored<Sandbox>;
  readonly pod: Stored<Pod>;
}

/** An idle sandbox, and how to read its current state. */
export interface IdleCandidate {
  readonly key: string;
  readonly read: () => Seen | undefined;
  /** When it was last used, or its Pod became Ready; monotonic milliseconds. */
  readonly lastUseMs: () => number | undefined;
}

/** Undefined if there is no workload to probe. */
function probeOf(seen: Seen | undefined): Probe | undefined {
  if (!seen) return undefined;
  const { sandbox } = seen;
  const { busyProbe } = effectiveAutoSuspension(sandbox.spec);
  const found = findPod(seen);
  return busyProbe && found.found === "owned" ? { busyProbe, sandbox, pod: found.pod } : undefined;
}

/** Asks for the suspension of sandboxes that are idle, unless their workload says that it is busy. */
export class SuspendIdle {
  readonly #options: SuspendIdleOptions;
  /** Since when workloads have said in a row that they are busy, by sandbox; monotonic. A use or another Pod ends the row. */
  readonly #busy = new Map<string, { readonly podUid: string; readonly sinceMs: number }>();
  /** When workloads have said that they may sleep, by sandbox; monotonic. */
  readonly #allowed = new Map<string, { readonly podUid: string; readonly atMs: number }>();
  /** Each workload is asked separately, so that a hanging workload delays only a few of its own namespace. */
  readonly #probes = new FairTasks(probesMax);

  constructor(options: SuspendIdleOptions) {
    this.#options = options;
  }

  /**
   * Whether the workload of an idle sandbox lets it sleep, as far as that is known now. If not, it is asked, and `onAsked`
   * receives the milliseconds until the next check.
   */
  mayTry(candidate: IdleCandidate, onAsked: (againMs: number) => void, signal: AbortSignal): boolean {
    const { key, read } = candidate;
    const probe = probeOf(read());
    if (!probe) return true;
    const allowed = this.#allowed.get(key);
    const isGood = allowed && this.#options.clock.ticksMs() - allowed.atMs <= allowanceMs;
    if (isGood && allowed.podUid === probe.pod.metadata.uid) return true;
    this.#probes.add(parseKey(key).namespace ?? "", key, async () => {
      let againMs = probeAgainMs;
      try {
        const now = probeOf(read());
        if (!now || !(await this.#isBusy(candidate, now, signal))) againMs = 0;
      } catch (error) {
        signal.throwIfAborted();
        reportUnexpected("watch", error);
      }
      onAsked(againMs);
    });
    return false;
  }

  /**
   * Returns the milliseconds until the next check; undefined if a change of the sandbox triggers it.
   *
   * @throws what `KubeClient` throws.
   */
  async tryTo(
    key: string,
    read: () => Seen | undefined,
    idlenessNow: () => Idleness | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    this.#allowed.delete(key);
    const seen = read();
    const idleness = idlenessNow();
    if (!seen || idleness?.is !== "idle") return 0;
    return (await this.#ask(seen.sandbox, idleness.forMs, signal)) ? undefined : changedAgainMs;
  }

  /** Number of sandboxes of which an answer is in memory. */
  get size(): number {
    return this.#busy.size + this.#allowed.size;
  }

  forget(key: string): void {
    this.#busy.delete(key);
    this.#allowed.delete(key);
    this.#probes.drop(parseKey(key).namespace ?? "", key);
  }

  async #isBusy(candidate: IdleCandidate, { busyProbe, sandbox, pod }: Probe, signal: AbortSignal): Promise<boolean> {
    const { clock, log, events, askWorkload } = this.#options;
    const { key, read } = candidate;
    const askedMs = clock.ticksMs();
    const answer = await askWorkload({ sandbox, pod }, signal);
    // It was forgotten meanwhile, and is forgotten only once.
    if (read()?.sandbox.metadata.uid !== sandbox.metadata.uid) return false;
    const podUid = pod.metadata.uid;
    const sinceMs = this.#busySinceMs(candidate, podUid);
    if (answer === undefined && sinceMs === undefined) events?.record(unanswered(sandbox, busyProbe.limitSeconds));
    const verdict = judgeProbe(answer, sinceMs, busyProbe.limitSeconds, clock.ticksMs());
    if (verdict.busySinceMs === undefined || verdict.maySleep) this.#busy.delete(key);
    else this.#busy.set(key, { podUid, sinceMs: verdict.busySinceMs });
    // An answer may have waited while this process stood still.
    const atMs = Math.min(clock.ticksMs(), askedMs + busyViewWaitMs + busyProbeMs);
    if (verdict.maySleep) this.#allowed.set(key, { podUid, atMs });
    if (verdict.overruled)
      log.warn(
        { key },
        "the busy probe has reached its limitSeconds; it no longer blocks the suspension of the sandbox",
      );
    return !verdict.maySleep;
  }

  /** Undefined if this Pod has not said so since the sandbox was last used. */
  #busySinceMs({ key, lastUseMs }: IdleCandidate, podUid: string): number | undefined {
    const busy = this.#busy.get(key);
    if (busy?.podUid !== podUid) return undefined;
    return (lastUseMs() ?? busy.sinceMs) <= busy.sinceMs ? busy.sinceMs : undefined;
  }

  /** Without its cause it would count as a manual suspension, which cuts work. */
  async #takeBack(written: Stored<Sandbox>, signal: AbortSignal): Promise<void> {
    if (effectiveOperatingMode(written.spec) === "Running") return;
    await patchSandbox(written, runningPatch(written), this.#options, signal);
  }

  /** Whether the suspension was asked for. */
  async #ask(sandbox: Observed["sandbox"], idleForMs: number, signal: AbortSignal): Promise<boolean> {
    const { client, sandboxes, events } = this.#options;
    const { namespace, name } = sandbox.metadata;
    const body = intentPatch(sandbox);
    let written: Stored<Sandbox> | undefined;
    const write = async () => {
      written = await client.patch(sandboxType, { namespace, name }, { type: "merge", body }, {}, signal);
      return written;
    };
    try {
      await sandboxes.patch(sandbox, body, write);
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      if (error instanceof NotKept && written) await this.#takeBack(written, signal);
      throw error;
    }
    events?.record(idled(sandbox, idleForMs));
    return true;
  }
}
