import type { ActivityAnswer, ActivityRequest } from "../../api/between-programs/drain-protocol.ts";
import type { Activator } from "../suspension/activators/activators.ts";
import {
  isLost,
  keepsAwake,
  type Silence,
  silenceSince,
  usualSilenceLimitMs,
} from "../suspension/activators/silence.ts";

/** What is known of the use of one sandbox. Moments are monotonic milliseconds of this process. */
export interface Use {
  /** Why it counts as used right now; undefined when it does not. */
  readonly busy: string | undefined;
  /** It is busy for no other reason than that this activator is silent; undefined when it is not. */
  readonly unanswered: { readonly by: string; readonly forMs: number } | undefined;
  /** What counts as its last activity; undefined if none is known. */
  readonly lastMs: number | undefined;
  /** The last activity that an activator has reported; earlier than `lastMs` where an activator is lost. */
  readonly reportedMs: number | undefined;
  /** Nothing is to be concluded from idleness before that. */
  readonly unsettledUntilMs: number;
}

interface Reported {
  readonly inFlight: number;
  readonly lastMs: number;
}

/** A currently existing activator. */
export type ListedActivator = Pick<Activator, "id" | "name" | "mayServe">;

interface Replica {
  readonly name: string;
  /** Since when its Pod has been seen not to be Ready; undefined: it is. */
  unreadySinceMs: number | undefined;
  epoch: string | undefined;
  cursor: number;
  contactMs: number;
  /** When the question was asked that it has answered last: an answer may have waited while this process stood still. */
  askedMs: number;
  /** Whether it has answered since it was listed. */
  known: boolean;
  readonly records: Map<string, Reported>;
}

/** Answers are read several times as often as that. */
const freshMs = 15_000;
/** A client that lost a connection with its activator reconnects within this time, or not at all. */
export const usualVanishGraceMs = 60_000;

/**
 * The activity that all activators report, merged. Every activity is dated by when its report came in, less its age: so
 * never too early, whatever the clocks say.
 */
export class ActivityView {
  readonly #replicas = new Map<string, Replica>();
  /** The last known activity of sandboxes, from activators that are gone. */
  readonly #departed = new Map<string, number>();
  readonly #vanishGraceMs: number;
  readonly #silenceLimitMs: number;
  #unsettledUntilMs = Number.NEGATIVE_INFINITY;

  constructor(vanishGraceMs = usualVanishGraceMs, silenceLimitMs = usualSilenceLimitMs) {
    this.#vanishGraceMs = vanishGraceMs;
    this.#silenceLimitMs = silenceLimitMs;
  }

  /** Updates the list of existing activators. */
  listed(activators: readonly ListedActivator[], nowMs: number): void {
    const there = new Set(activators.map(({ id }) => id));
    for (const [id, replica] of this.#replicas) {
      if (there.has(id)) continue;
      this.#lose(replica, nowMs);
      this.#replicas.delete(id);
    }
    for (const { id, name, mayServe } of activators) {
      const replica = this.#replicas.get(id) ?? newReplica(name, nowMs);
      replica.unreadySinceMs = mayServe ? undefined : (replica.unreadySinceMs ?? nowMs);
      this.#replicas.set(id, replica);
    }
  }

  /** What to ask of an activator next. */
  requestFor(replica: string): ActivityRequest {
    const { epoch, cursor } = this.#replicas.get(replica) ?? {};
    return epoch === undefined || cursor === undefined ? {} : { epoch, cursor };
  }

  /** Takes an answer to the question of that time, and returns the UIDs of the sandboxes in it. */
  received(id: string, answer: ActivityAnswer, nowMs: number, askedMs = nowMs): readonly string[] {
    const replica = this.#replicas.get(id);
    if (!replica) return [];
    const restarted = replica.epoch !== undefined && replica.epoch !== answer.epoch;
    if (restarted) this.#lose(replica, nowMs);
    if (restarted || answer.full) replica.records.clear();
    replica.epoch = answer.epoch;
    replica.cursor = answer.cursor;
    replica.contactMs = nowMs;
    replica.askedMs = askedMs;
    replica.known = true;
    for (const { sandbox, inFlight, idleForMs } of answer.activities) {
      replica.records.set(sandbox.uid, { inFlight, lastMs: nowMs - idleForMs });
    }
    return answer.activities.map(({ sandbox }) => sandbox.uid);
  }

  /** Records that an activator does not run, which counts as an answer without activity. */
  absent(id: string, nowMs: number, askedMs = nowMs): void {
    const replica = this.#replicas.get(id);
    if (!replica) return;
    if (replica.epoch !== undefined) this.#lose(replica, nowMs);
    replica.records.clear();
    replica.epoch = undefined;
    replica.contactMs = nowMs;
    replica.askedMs = askedMs;
    replica.known = true;
  }

  /** It is gone, or has been silent for so long that it counts no more. */
  countsNoMore(id: string, nowMs: number): boolean {
    const replica = this.#replicas.get(id);
    return !replica || !keepsAwake(silenceOf(replica, nowMs), this.#silenceLimitMs);
  }

  useOf(sandboxUid: string, nowMs: number): Use {
    let busy = this.#replicas.size === 0 ? "no activator is there to ask" : undefined;
    let reportedMs = this.#departed.get(sandboxUid) ?? Number.NEGATIVE_INFINITY;
    let lastMs = reportedMs;
    let unanswered: Use["unanswered"];
    for (const replica of this.#replicas.values()) {
      const { contactMs, unreadySinceMs, known, records, name: by } = replica;
      const record = records.get(sandboxUid);
      const silence = silenceOf(replica, nowMs);
      if (record) reportedMs = Math.max(reportedMs, record.lastMs, record.inFlight > 0 ? contactMs : record.lastMs);
      if (!keepsAwake(silence, this.#silenceLimitMs)) {
        // Until its Pod was seen not to be Ready it may have proxied.
        lastMs = Math.max(lastMs, contactMs, isLost(silence) ? (unreadySinceMs ?? contactMs) : contactMs);
      } else if (!known || silence.forMs > freshMs) {
        if (silence.forMs >= (unanswered?.forMs ?? 0)) unanswered = { by, forMs: silence.forMs };
      } else if (record && record.inFlight > 0) busy = `${record.inFlight} in flight`;
    }
    if (busy !== undefined) unanswered = undefined;
    else if (unanswered) busy = "activator not responding";
    lastMs = Math.max(lastMs, reportedMs);
    const unsettledUntilMs = this.#unsettledUntilMs;
    return { busy, unanswered, lastMs: ifAny(lastMs), reportedMs: ifAny(reportedMs), unsettledUntilMs };
  }

  /** The sandbox is no more. */
  forget(sandboxUid: string): void {
    this.#departed.delete(sandboxUid);
    for (const { records } of this.#replicas.values()) records.delete(sandboxUid);
  }

  /** Its known times stay; its requests in flight count as in use until now, and may be sent again to others. */
  #lose({ records }: Replica, nowMs: number): void {
    this.#unsettledUntilMs = Math.max(this.#unsettledUntilMs, nowMs + this.#vanishGraceMs);
    for (const [uid, { inFlight, lastMs }] of records) {
      const until = inFlight > 0 ? nowMs : lastMs;
      this.#departed.set(uid, Math.max(until, this.#departed.get(uid) ?? until));
    }
  }
}

const ifAny = (ms: number): number | undefined => (ms > Number.NEGATIVE_INFINITY ? ms : undefined);

const newReplica = (name: string, nowMs: number): Replica => ({
  ...{ name, unreadySinceMs: undefined, epoch: undefined, cursor: 0, contactMs: nowMs, askedMs: nowMs, known: false },
  records: new Map(),
});

const silenceOf = ({ askedMs, unreadySinceMs }: Replica, nowMs: number): Silence =>
  silenceSince(askedMs, unreadySinceMs, nowMs);
