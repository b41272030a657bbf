import { randomUUID } from "node:crypto";
import type {
  ActivityAnswer,
  ActivityRequest,
  SandboxActivity,
  SandboxIdentity,
  WakeReport,
} from "../../api/drain-protocol.ts";
import type { Stored } from "../../api/meta.ts";
import type { OpenConnections, Sandbox } from "../../api/sandbox.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RequestHead } from "../request.ts";
import { isIgnored } from "./ignored-requests.ts";

/** What is under way for one sandbox. */
export interface Load {
  /** Held, or being dialled: nothing was sent. */
  readonly waiting: number;
  /** Sent to that Pod, and not answered to the end; connections that count by being open are among them. */
  readonly sent: number;
  /** The same, of requests that neither wake nor count. */
  readonly ignored: number;
  /** Milliseconds since the last activity; undefined when none is known. */
  readonly idleForMs: number | undefined;
}

type AskedBy = Pick<RequestHead, "target" | "headers">;

/** What a use needs of all activity. */
interface ActivityOfUses {
  recordOf(sandbox: Stored<Sandbox>): SandboxRecord;
  changed(record: SandboxRecord): void;
  nowMs(): number;
}

/** How many there are, Pod by Pod. */
class PodCounts {
  readonly #counts = new Map<string, number>();
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

/** What is known of the use of one sandbox. */
class SandboxRecord {
  readonly identity: SandboxIdentity;
  readonly sent = new PodCounts();
  /** What was sent and does not count: it is not cut unseen. */
  readonly ignored = new PodCounts();
  waiting = 0;
  lastMs: number | undefined;
  changedAt = 0;
  wake: (Omit<WakeReport, "agoMs"> & { readonly atMs: number }) | undefined;

  constructor({ uid, name, namespace = "" }: Stored<Sandbox>["metadata"]) {
    this.identity = { namespace, name, uid };
  }

  get inFlight(): number {
    return this.waiting + this.sent.total;
  }
}

/**
 * One request's or connection's use of a sandbox.
 *
 *   new ──begin──▶ waiting ──sentTo──▶ sent ──opened──▶ open       (counts only by what moves, or not at all)
 *    └────────────────┴──────────────────┴──────end──────┴──▶ over
 */
export class Use {
  readonly #head: AskedBy | undefined;
  readonly #activity: ActivityOfUses;
  /** Undefined: its sandbox is not known yet. */
  #record: SandboxRecord | undefined;
  #isIgnored = false;
  #phase: "new" | "waiting" | "sent" | "open" | "over" = "new";
  #podUid = "";
  #isAnswered = false;

  constructor(head: AskedBy | undefined, activity: ActivityOfUses) {
    this.#head = head;
    this.#activity = activity;
  }

  get counts(): boolean {
    return this.#record !== undefined && !this.#isIgnored;
  }

  /** Its sandbox is known; asked again it changes nothing. */
  begin(sandbox: Stored<Sandbox>): void {
    if (this.#phase !== "new") return;
    this.#phase = "waiting";
    this.#isIgnored = isIgnored(this.#head, sandbox.spec.autoSuspension);
    this.#record = this.#activity.recordOf(sandbox);
    if (this.#isIgnored) return;
    this.#record.waiting += 1;
    this.#changed();
  }

  /** To be called in the same synchronous step as the look that allows to send. */
  sentTo(podUid: string): void {
    if (this.#phase !== "waiting") return;
    this.#phase = "sent";
    this.#podUid = podUid;
    if (this.counts && this.#record) this.#record.waiting -= 1;
    this.#addSent(1);
    this.#changed();
  }

  /** The sandbox has begun to answer. */
  answered(): void {
    this.#isAnswered = true;
  }

  /** It goes on as a connection that may stay open for long: what that means is the owner's choice. */
  opened(meaning: OpenConnections): void {
    if (this.#phase === "sent" && meaning !== "Count") {
      this.#phase = "open";
      this.#addSent(-1);
      this.moved();
    } else if (this.#phase === "open" && meaning === "Count") {
      this.#phase = "sent";
      this.#addSent(1);
      this.#changed();
    }
  }

  /** Something happened that counts. */
  moved(): void {
    if (!this.#record || this.#isIgnored || this.#phase === "over") return;
    this.#record.lastMs = this.#activity.nowMs();
    this.#changed();
  }

  end(): void {
    const phase = this.#phase;
    if (phase === "over") return;
    if (phase === "sent" && this.#isAnswered) this.moved();
    this.#phase = "over";
    if (phase === "waiting" && this.counts && this.#record) this.#record.waiting -= 1;
    if (phase === "sent") this.#addSent(-1);
    this.#changed();
  }

  #addSent(difference: 1 | -1): void {
    const counts = this.#isIgnored ? this.#record?.ignored : this.#record?.sent;
    counts?.add(this.#podUid, difference);
  }

  #changed(): void {
    if (this.#record && !this.#isIgnored) this.#activity.changed(this.#record);
  }
}

/** The use of sandboxes through this replica, in memory alone. */
export class Activity {
  readonly #clock: Clock;
  readonly #epoch = randomUUID();
  readonly #startedMs: number;
  readonly #records = new Map<string, SandboxRecord>();
  readonly #ofUses: ActivityOfUses;
  #cursor = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.ticksMs();
    this.#ofUses = {
      nowMs: () => clock.ticksMs(),
      recordOf: (sandbox) => this.#recordOf(sandbox),
      changed: (record) => {
        this.#cursor += 1;
        record.changedAt = this.#cursor;
      },
    };
  }

  /** How many sandboxes something is known of. */
  get size(): number {
    return this.#records.size;
  }

  /** The use that a request, or a connection that is no HTTP, will make; its maker ends it. */
  useBy(head: AskedBy | undefined): Use {
    return new Use(head, this.#ofUses);
  }

  /** This replica asked for it to run, for a connection to that port. */
  woke(sandbox: Stored<Sandbox>, port: number): void {
    const record = this.#recordOf(sandbox);
    record.wake = { generation: sandbox.metadata.generation ?? 0, port, atMs: this.#clock.ticksMs() };
    this.#ofUses.changed(record);
  }

  /** The sandbox is no more. */
  forget(sandboxUid: string): void {
    this.#records.delete(sandboxUid);
  }

  loadOf(sandboxUid: string, podUid: string): Load {
    const record = this.#records.get(sandboxUid);
    if (!record) return { waiting: 0, sent: 0, ignored: 0, idleForMs: undefined };
    const { waiting, lastMs } = record;
    const sent = record.sent.of(podUid);
    const ignored = record.ignored.of(podUid);
    const idleForMs = lastMs === undefined ? undefined : this.#clock.ticksMs() - lastMs;
    return { waiting, sent, ignored, idleForMs: record.inFlight > 0 ? 0 : idleForMs };
  }

  /** What has changed since an answer of this run of the process, or everything. */
  answer({ epoch, cursor = 0 }: ActivityRequest): ActivityAnswer {
    const full = epoch !== this.#epoch || cursor > this.#cursor;
    const changed = [...this.#records.values()].filter(({ changedAt }) => full || changedAt > cursor);
    return { epoch: this.#epoch, cursor: this.#cursor, full, activities: changed.map((each) => this.#report(each)) };
  }

  // Of a sandbox that never answered there is no activity to tell of: none, at least, since we started.
  #report({ identity, inFlight, lastMs = this.#startedMs, wake }: SandboxRecord): SandboxActivity {
    const nowMs = this.#clock.ticksMs();
    const idleForMs = inFlight > 0 ? 0 : nowMs - lastMs;
    const told = wake && { generation: wake.generation, port: wake.port, agoMs: nowMs - wake.atMs };
    return { sandbox: identity, inFlight, idleForMs, ...(told && { wake: told }) };
  }

  #recordOf({ metadata }: Stored<Sandbox>): SandboxRecord {
    const known = this.#records.get(metadata.uid);
    if (known) return known;
    const record = new SandboxRecord(metadata);
    this.#records.set(metadata.uid, record);
    return record;
  }
}
