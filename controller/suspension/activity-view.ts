import type { ActivityAnswer, ActivityRequest } from "../../api/drain-protocol.ts";
import { longestSilenceMs } from "./replies.ts";

/** What is known of the use of one sandbox. Moments are monotonic milliseconds of this process. */
export interface Use {
  /** Why it counts as used right now; undefined when it does not. */
  readonly busy: string | undefined;
  /** Undefined when nobody knows of any. */
  readonly lastMs: number | undefined;
  /** Nothing is to be concluded from idleness before that. */
  readonly unsettledUntilMs: number;
}

interface Reported {
  readonly inFlight: number;
  readonly lastMs: number;
}

interface Replica {
  epoch: string | undefined;
  cursor: number;
  contactMs: number;
  /** Whether anything was heard of it since it was listed. */
  known: boolean;
  readonly records: Map<string, Reported>;
}

/** Answers are read several times as often as that. */
const freshMs = 15_000;
/** Whoever lost a connection with its activator comes back within that, or does not come. */
export const usualVanishGraceMs = 60_000;

/**
 * The activity that all activators report, merged. Every activity is dated by when its report came in, less its age: so
 * never too early, whatever the clocks say.
 */
export class ActivityView {
  readonly #replicas = new Map<string, Replica>();
  /** Last activity that was known of sandboxes, by those who are gone. */
  readonly #departed = new Map<string, number>();
  readonly #vanishGraceMs: number;
  #unsettledUntilMs = Number.NEGATIVE_INFINITY;

  constructor(vanishGraceMs = usualVanishGraceMs) {
    this.#vanishGraceMs = vanishGraceMs;
  }

  /** Takes the activators that are there now, by the UIDs of their Pods. */
  listed(replicas: readonly string[], nowMs: number): void {
    for (const [id, replica] of this.#replicas) {
      if (replicas.includes(id)) continue;
      this.#lose(replica, nowMs);
      this.#replicas.delete(id);
    }
    for (const id of replicas) {
      if (this.#replicas.has(id)) continue;
      this.#replicas.set(id, { epoch: undefined, cursor: 0, contactMs: nowMs, known: false, records: new Map() });
    }
  }

  /** What to ask of an activator next. */
  requestFor(replica: string): ActivityRequest {
    const { epoch, cursor } = this.#replicas.get(replica) ?? {};
    return epoch === undefined || cursor === undefined ? {} : { epoch, cursor };
  }

  /** Takes an answer, and returns the UIDs of the sandboxes that it tells of. */
  heard(id: string, answer: ActivityAnswer, nowMs: number): readonly string[] {
    const replica = this.#replicas.get(id);
    if (!replica) return [];
    const restarted = replica.epoch !== undefined && replica.epoch !== answer.epoch;
    if (restarted) this.#lose(replica, nowMs);
    if (restarted || answer.full) replica.records.clear();
    replica.epoch = answer.epoch;
    replica.cursor = answer.cursor;
    replica.contactMs = nowMs;
    replica.known = true;
    for (const { sandbox, inFlight, idleForMs } of answer.activities) {
      replica.records.set(sandbox.uid, { inFlight, lastMs: nowMs - idleForMs });
    }
    return answer.activities.map(({ sandbox }) => sandbox.uid);
  }

  /** Takes that an activator does not run, which is as good as an answer without activity. */
  absent(id: string, nowMs: number): void {
    const replica = this.#replicas.get(id);
    if (!replica) return;
    if (replica.epoch !== undefined) this.#lose(replica, nowMs);
    replica.records.clear();
    replica.epoch = undefined;
    replica.contactMs = nowMs;
    replica.known = true;
  }

  /** It has been silent for so long that it counts no more. */
  isLost(id: string, nowMs: number): boolean {
    const replica = this.#replicas.get(id);
    return !replica || nowMs - replica.contactMs >= longestSilenceMs;
  }

  useOf(sandboxUid: string, nowMs: number): Use {
    let busy = this.#replicas.size === 0 ? "no activator is there to ask" : undefined;
    let lastMs = this.#departed.get(sandboxUid) ?? Number.NEGATIVE_INFINITY;
    for (const { contactMs, known, records } of this.#replicas.values()) {
      const record = records.get(sandboxUid);
      const silentMs = nowMs - contactMs;
      lastMs = Math.max(lastMs, record?.lastMs ?? lastMs);
      if (silentMs >= longestSilenceMs) lastMs = Math.max(lastMs, contactMs);
      else if (!known || silentMs > freshMs) busy ??= "an activator cannot be reached";
      else if (record && record.inFlight > 0) busy = `${record.inFlight} in flight`;
    }
    const used = lastMs > Number.NEGATIVE_INFINITY;
    return { busy, lastMs: used ? lastMs : undefined, unsettledUntilMs: this.#unsettledUntilMs };
  }

  /** The sandbox is no more. */
  forget(sandboxUid: string): void {
    this.#departed.delete(sandboxUid);
    for (const { records } of this.#replicas.values()) records.delete(sandboxUid);
  }

  /** What it knew stays; what it carried was in use until now, and may come back elsewhere. */
  #lose({ records }: Replica, nowMs: number): void {
    this.#unsettledUntilMs = Math.max(this.#unsettledUntilMs, nowMs + this.#vanishGraceMs);
    for (const [uid, { inFlight, lastMs }] of records) {
      const until = inFlight > 0 ? nowMs : lastMs;
      this.#departed.set(uid, Math.max(until, this.#departed.get(uid) ?? until));
    }
  }
}
