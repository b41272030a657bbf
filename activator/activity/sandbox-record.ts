import type { SandboxIdentity, WakeReport } from "../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { SmallMap } from "../../lib/data/small-map.ts";
import { TurnoverSet } from "../../lib/data/turnover.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";

/** Counts per Pod UID. Nearly always one Pod is counted: V8 would replace the table of a Map twice for each request. */
class PodCounts {
  readonly #counts = new SmallMap<string, number>();
  total = 0;

  of(podUid: string): number {
    return this.#counts.get(podUid) ?? 0;
  }

  add(podUid: string, difference: 1 | -1): void {
    this.total += difference;
    const count = this.of(podUid) + difference;
    if (count === 0) this.#counts.delete(podUid);
    else this.#counts.set(podUid, count);
  }
}

/** An open connection under `openConnections: Data`. */
export interface OpenUse {
  readonly podUid: string;
  /** Monotonic milliseconds until which unanswered data is work in flight; -Infinity without unanswered data. */
  readonly unansweredUntilMs: number;
}

/** The use of one sandbox. All times are monotonic milliseconds of the activator's clock. */
export class SandboxRecord {
  readonly identity: SandboxIdentity;
  /** Requests, and connections that count while open, by Pod UID. */
  readonly sent = new PodCounts();
  /** Requests that `ignoreRequests` matches, by Pod UID. They are counted so that a Pod is not deleted under them. */
  readonly ignored = new PodCounts();
  readonly open = new TurnoverSet<OpenUse>();
  waiting = 0;
  /** Of `sent`: the number that have written a byte to their Pod. While it is above 0 the sandbox is in use. */
  dispatched = 0;
  changedAt = 0;
  /** The generation of the last suspension that the controller asked about and that is still requested; 0 without. */
  observedGeneration = 0;
  unansweredLimitMs = 0;
  wake: (Omit<WakeReport, "agoMs"> & { readonly atMs: number }) | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #unansweredSeen = 0;

  constructor({ uid, name, namespace = "" }: Stored<SlimSandbox>["metadata"]) {
    this.identity = { namespace, name, uid };
  }

  /** Records activity at that moment. The last activity never moves back. */
  usedAt(ms: number): void {
    if (ms > this.#lastMs) this.#lastMs = ms;
  }

  /** The time of the last activity, as of `nowMs`; -Infinity without activity. A later `nowMs` never gives an earlier time. */
  lastUsedMs(nowMs: number): number {
    if (this.dispatched > 0) return nowMs;
    let lastMs = this.#lastMs;
    for (const { unansweredUntilMs } of this.open) lastMs = Math.max(lastMs, Math.min(unansweredUntilMs, nowMs));
    return lastMs;
  }

  /** The number of held and dispatched requests, and of connections with work in flight. */
  inFlight(nowMs: number): number {
    return this.waiting + this.sent.total + this.#unanswered(nowMs);
  }

  /** The number of requests and connections in flight to that Pod. */
  inFlightTo(podUid: string, nowMs: number): number {
    return this.sent.of(podUid) + this.#unanswered(nowMs, podUid);
  }

  /** Whether a limit of unanswered data has passed since the last call: no byte moves at that moment. */
  hasExpired(nowMs: number): boolean {
    const before = this.#unansweredSeen;
    this.#unansweredSeen = this.#unanswered(nowMs);
    return this.#unansweredSeen < before;
  }

  #unanswered(nowMs: number, podUid?: string): number {
    let count = 0;
    for (const use of this.open) {
      if (nowMs < use.unansweredUntilMs && (podUid === undefined || use.podUid === podUid)) count += 1;
    }
    return count;
  }
}
