import {
  type BusyAnswer,
  type BusyRequest,
  busyProbeMs,
  busyViewWaitMs,
  type NotAskedReason,
  type SandboxIdentity,
} from "../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { busyTargetOf } from "../../api/rules/busy-target.ts";
import { mayForward } from "../../api/rules/suspension.ts";
import { onAbort } from "../../lib/guard/on-abort.ts";
import { askStatus } from "../../lib/net/ask-status.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { PodFences } from "../activity/pod-fences.ts";
import { canonicalIp, isDiallable } from "../find/ip-address.ts";
import type { PodAddress } from "../pod-connections/place.ts";
import { type Cluster, longestSilenceMs } from "../sandbox/cluster.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";

export interface BusyProberParts {
  /** Undefined until this replica follows the cluster. */
  readonly cluster: () => Pick<Cluster, "sandbox" | "podOf" | "listen" | "silentMs"> | undefined;
  readonly fences: PodFences;
  readonly clock: Clock;
  readonly allowLoopbackPodIp: boolean;
}

/** The number of probes that one controller requests at a time: one socket each. */
export const workloadsAskedMax = 128;

interface UnderWay {
  readonly sandboxUid: string;
  readonly generation: number;
  readonly answer: Promise<BusyAnswer>;
  readonly end: AbortController;
}

interface Seen {
  readonly sandbox: Stored<SlimSandbox>;
  readonly pod: Stored<Pod>;
}

const notAsked = (reason: NotAskedReason): BusyAnswer => ({ asked: false, reason });

/**
 * Probes workloads for the controller, because a NetworkPolicy may admit the activators alone. The controller's request gives
 * neither address nor probe, so its certificate opens no proxy. A probe is no activity.
 */
export class BusyProber {
  readonly #parts: BusyProberParts;
  /** By Pod UID: one probe of a Pod at a time. */
  readonly #underWay = new Map<string, UnderWay>();

  constructor(parts: BusyProberParts) {
    this.#parts = parts;
  }

  /** Never rejects. Requests about a Pod that is being probed share the answer. */
  async ask(question: BusyRequest): Promise<BusyAnswer> {
    const { sandbox, podUid, generation } = question;
    const known = this.#underWay.get(podUid);
    if (known) {
      const isSame = known.sandboxUid === sandbox.uid && known.generation === generation;
      return isSame ? known.answer : notAsked("TooMany");
    }
    if (this.#underWay.size >= workloadsAskedMax) return notAsked("TooMany");
    const end = new AbortController();
    const answer = this.#ask(question, end.signal).finally(() => this.#underWay.delete(podUid));
    this.#underWay.set(podUid, { sandboxUid: sandbox.uid, generation, answer, end });
    return answer;
  }

  /**
   * That Pod of that sandbox is fenced: nothing may be sent to it any more. A seal may name the Pod of another sandbox, whose
   * probe continues.
   */
  fenced(sandboxUid: string, podUid: string): void {
    const known = this.#underWay.get(podUid);
    if (known?.sandboxUid === sandboxUid) known.end.abort(new Error("the Pod is fenced"));
  }

  /** A Pod has lost an address, so its probe may wait there in vain, or reach another Pod. */
  addressLost({ podUid }: PodAddress): void {
    this.#underWay.get(podUid)?.end.abort(new Error("the Pod has lost an address"));
  }

  /** Ends all probes. */
  [Symbol.dispose](): void {
    for (const { end } of this.#underWay.values()) end.abort(new Error("this replica exits"));
  }

  async #ask(question: BusyRequest, signal: AbortSignal): Promise<BusyAnswer> {
    const seen = await this.#untilSeen(question, signal);
    // From here to the dial is one synchronous step.
    if (!seen) return notAsked("NotSeen");
    const { sandbox, pod } = seen;
    const { fences, clock, allowLoopbackPodIp } = this.#parts;
    const { uid } = sandbox.metadata;
    const isFenced = signal.aborted || !mayForward(sandbox, pod.metadata.uid, fences.of(uid));
    if (isFenced) return notAsked("Fenced");
    const target = busyTargetOf(sandbox, pod);
    if (!target) return notAsked("NoProbe");
    const host = canonicalIp(target.host);
    if (host === undefined || !isDiallable(host, allowLoopbackPodIp)) return notAsked("NotSeen");
    try {
      const status = await askStatus({ ...target, host }, { clock, limitMs: busyProbeMs, signal });
      return { asked: true, ...(status !== undefined && { status }) };
    } catch {
      return notAsked(mayForward(sandbox, pod.metadata.uid, fences.of(uid)) ? "NotSeen" : "Fenced");
    }
  }

  /** The controller's watch may be slightly ahead of ours. */
  async #untilSeen(question: BusyRequest, signal: AbortSignal): Promise<Seen | undefined> {
    const cluster = this.#parts.cluster();
    if (!cluster) return undefined;
    const { namespace, name } = question.sandbox;
    using changes = cluster.listen(namespace, name);
    let isOver = false;
    const end = () => {
      isOver = true;
      changes.notify();
    };
    using _timer = this.#parts.clock.after(busyViewWaitMs, end);
    using _leaving = onAbort(signal, end);
    for (;;) {
      changes.reset();
      const seen = this.#see(question);
      if (seen || isOver) return seen;
      await changes.next();
    }
  }

  #see({ sandbox: identity, podUid, generation }: BusyRequest): Seen | undefined {
    const cluster = this.#parts.cluster();
    if (!cluster || cluster.silentMs() > longestSilenceMs) return undefined;
    const sandbox = this.#seenSandbox(identity);
    if (!sandbox || sandbox.metadata.deletionTimestamp || (sandbox.metadata.generation ?? 0) < generation) {
      return undefined;
    }
    const pod = cluster.podOf(sandbox);
    const isThere = pod?.metadata.uid === podUid && !pod.metadata.deletionTimestamp;
    return isThere && pod.status?.podIP ? { sandbox, pod } : undefined;
  }

  #seenSandbox({ namespace, name, uid }: SandboxIdentity): Stored<SlimSandbox> | undefined {
    const sandbox = this.#parts.cluster()?.sandbox(namespace, name);
    return sandbox?.metadata.uid === uid ? sandbox : undefined;
  }
}
