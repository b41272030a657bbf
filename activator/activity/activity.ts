import { randomUUID } from "node:crypto";
import type { ActivityAnswer, ActivityRequest, SandboxActivity } from "../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { effectiveAutoSuspension, effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { causeOf } from "../../api/rules/suspension.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import { SandboxRecord } from "./sandbox-record.ts";
import { type ActivityOfUses, type AskedBy, Use } from "./use.ts";

/** The current load of one sandbox on this replica. */
export interface Load {
  /** Requests that are held or being dialled: no byte was sent. */
  readonly waiting: number;
  /** Requests dispatched to that Pod that have not ended, connections that count while open, and connections with unanswered data. */
  readonly sent: number;
  /** Requests in flight to that Pod that `ignoreRequests` matches. */
  readonly ignored: number;
  /** Milliseconds since the last activity; undefined if no activity is recorded. */
  readonly idleForMs: number | undefined;
}

/** Records in memory how sandboxes are used through this replica. */
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

  /** The number of sandboxes with a record. */
  get size(): number {
    return this.#records.size;
  }

  /** Creates the use of a request or raw connection; the caller ends it. `head`: undefined for a raw connection. */
  useBy(head: AskedBy | undefined): Use {
    return new Use(head, this.#ofUses);
  }

  /** Records that this replica woke the sandbox for a connection to that port. */
  woke(sandbox: Stored<SlimSandbox>, port: number): void {
    const record = this.#recordOf(sandbox);
    record.wake = { generation: sandbox.metadata.generation ?? 0, port, atMs: this.#clock.ticksMs() };
    this.#ofUses.changed(record);
  }

  /** Drops the record of a deleted sandbox. */
  forget(sandboxUid: string): void {
    this.#records.delete(sandboxUid);
  }

  /** The controller asked about the suspension in that generation. Data that arrives from now on counts as sent after it. */
  observed(sandboxUid: string, generation: number): void {
    const record = this.#records.get(sandboxUid);
    if (record) record.observedGeneration = generation;
  }

  /**
   * Records a version of the sandbox from the watch. A newer generation that is no inactivity suspension ends the observed
   * suspension.
   */
  saw(sandbox: Stored<SlimSandbox>): void {
    const record = this.#records.get(sandbox.metadata.uid);
    if (!record) return;
    if ((sandbox.metadata.generation ?? 0) > record.observedGeneration && !isFallingAsleep(sandbox)) {
      record.observedGeneration = 0;
    }
    const limitMs = unansweredLimitMs(sandbox);
    if (limitMs === record.unansweredLimitMs) return;
    const nowMs = this.#clock.ticksMs();
    record.usedAt(record.lastUsedMs(nowMs));
    record.unansweredLimitMs = limitMs;
    this.#ofUses.changed(record);
  }

  loadOf(sandboxUid: string, podUid: string): Load {
    const record = this.#records.get(sandboxUid);
    if (!record) return { waiting: 0, sent: 0, ignored: 0, idleForMs: undefined };
    const nowMs = this.#clock.ticksMs();
    const lastMs = record.lastUsedMs(nowMs);
    return {
      waiting: record.waiting,
      sent: record.inFlightTo(podUid, nowMs),
      ignored: record.ignored.of(podUid),
      idleForMs: Number.isFinite(lastMs) ? nowMs - lastMs : undefined,
    };
  }

  /** Activity that changed since the caller's cursor; all activity if the caller's epoch or cursor is of another process. */
  answer({ epoch, cursor = 0 }: ActivityRequest): ActivityAnswer {
    const nowMs = this.#clock.ticksMs();
    for (const record of this.#records.values()) if (record.hasExpired(nowMs)) this.#ofUses.changed(record);
    const full = epoch !== this.#epoch || cursor > this.#cursor;
    const changed = [...this.#records.values()].filter(({ changedAt }) => full || changedAt > cursor);
    const activities = changed.map((each) => this.#report(each, nowMs));
    return { epoch: this.#epoch, cursor: this.#cursor, full, activities };
  }

  // A sandbox without activity reports the time since this process started: it has had none since then.
  #report(record: SandboxRecord, nowMs: number): SandboxActivity {
    const { identity, wake } = record;
    const idleForMs = nowMs - Math.max(record.lastUsedMs(nowMs), this.#startedMs);
    const wakeReport = wake && { generation: wake.generation, port: wake.port, agoMs: nowMs - wake.atMs };
    return { sandbox: identity, inFlight: record.inFlight(nowMs), idleForMs, ...(wakeReport && { wake: wakeReport }) };
  }

  #recordOf(sandbox: Stored<SlimSandbox>): SandboxRecord {
    const { uid } = sandbox.metadata;
    const known = this.#records.get(uid);
    if (known) return known;
    const record = new SandboxRecord(sandbox.metadata);
    record.unansweredLimitMs = unansweredLimitMs(sandbox);
    this.#records.set(uid, record);
    return record;
  }
}

/** Whether an inactivity suspension is requested. Other edits of the sandbox do not end it. */
const isFallingAsleep = (sandbox: SlimSandbox): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Suspended" && causeOf(sandbox) === "Inactivity";

const unansweredLimitMs = ({ spec }: SlimSandbox): number =>
  effectiveAutoSuspension(spec).unansweredLimitSeconds * 1000;
