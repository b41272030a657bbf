import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { isExpired } from "../../sandbox/expiry.ts";
import type { BlockedSuspension } from "../../suspension/handshake/blocked-suspension.ts";
import type { Use } from "../activity-view.ts";
import type { Idleness } from "../decide-idle.ts";
import {
  type ActivityTimes,
  betweenWritesMs,
  decideTimes,
  type KnownTimes,
  type TimesDecision,
} from "./activity-times.ts";

/** Decides the times of use in the status of a sandbox. */
export interface ActivityTimesKeeper {
  /** The value to write now; undefined if the written value is recent enough. */
  timesToWrite(sandbox: Stored<Sandbox>): ActivityTimes | undefined;
  /** Whether it would sleep if an activator answered. */
  blockedSuspension(sandbox: Stored<Sandbox>): BlockedSuspension;
}

/** What is known of the use of one sandbox at this moment. */
export interface KnownUse {
  readonly idleness: Idleness;
  readonly use: Use;
}

interface Written {
  readonly times: string;
  /** Since when the status has these times. */
  readonly sinceMs: number;
  /** When a pass was requested that is to replace them. */
  askedMs?: number;
}

/** Decides when the activity times of each sandbox are to be written. */
export class UseTimes {
  readonly #clock: Clock;
  readonly #sinceMs: number;
  readonly #written = new Map<string, Written>();
  /** The last activity of each sandbox when it was last seen awake. */
  readonly #lastMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.ticksMs();
  }

  decide(sandbox: Stored<Sandbox>, known: KnownUse): TimesDecision {
    const { uid } = sandbox.metadata;
    if (known.idleness.is !== "exempt") this.#lastMs.set(uid, known.idleness.lastMs);
    const { status = {} } = sandbox;
    return decideTimes(status, this.#timesOf(sandbox, known), this.#clock.ticksMs() - this.#writtenOf(sandbox).sinceMs);
  }

  /**
   * As `decide`, for a pass that would be requested for these times alone. If that pass fails, it is retried with its own
   * backoff, so there is no other request for the same times within a minute.
   */
  decideRequest(sandbox: Stored<Sandbox>, known: KnownUse): TimesDecision {
    const decision = this.decide(sandbox, known);
    if (decision.is !== "due") return decision;
    const written = this.#writtenOf(sandbox);
    const nowMs = this.#clock.ticksMs();
    const waitMs = written.askedMs === undefined ? 0 : written.askedMs + betweenWritesMs - nowMs;
    if (waitMs > 0) return { is: "waiting", forMs: waitMs };
    written.askedMs = nowMs;
    return decision;
  }

  forget(sandboxUid: string): void {
    this.#written.delete(sandboxUid);
    this.#lastMs.delete(sandboxUid);
  }

  /** The status tells when it was written: a write may fail or be deferred. */
  #writtenOf({ metadata: { uid }, status = {} }: Stored<Sandbox>): Written {
    const times = [status.lastActivityTime, status.nextSuspensionTime].map((time) => readTime(time)?.getTime()).join();
    const known = this.#written.get(uid);
    if (known?.times === times) return known;
    const written = { times, sinceMs: known ? this.#clock.ticksMs() : this.#sinceMs };
    this.#written.set(uid, written);
    return written;
  }

  #timesOf(sandbox: Stored<Sandbox>, { idleness, use }: KnownUse): KnownTimes {
    const { metadata, spec, status = {} } = sandbox;
    const written = { last: readTime(status.lastActivityTime), next: readTime(status.nextSuspensionTime) };
    // An expired sandbox loses its times together with the rest of its status.
    if (isExpired(sandbox, this.#clock.now())) return written;
    if (spec.autoSuspension?.inactivityTimeoutSeconds === undefined) return { last: undefined, next: undefined };
    if (idleness.is !== "exempt") {
      const sleepsAtMs = idleness.is === "awake" ? idleness.sleepsAtMs : this.#clock.ticksMs();
      return { last: this.#laterOf(written.last, idleness.lastMs), next: this.#nextAt(written.next, sleepsAtMs) };
    }
    const last = this.#laterOf(written.last, this.#lastMs.get(metadata.uid));
    // A sandbox that has not been awake yet was not used.
    return { last: last && this.#laterOf(last, use.reportedMs), next: undefined };
  }

  /** A time that stays overdue is not written again and again. */
  #nextAt(written: Date | undefined, sleepsAtMs: number): Date {
    const isOverdue = sleepsAtMs <= this.#clock.ticksMs();
    return isOverdue && written && written <= this.#clock.now() ? written : this.#at(sleepsAtMs);
  }

  /**
   * The last activity never moves back, also if all that knew of it have restarted. A written time in the future comes
   * from a clock that was wrong.
   */
  #laterOf(written: Date | undefined, knownMs: number | undefined): Date | undefined {
    if (knownMs === undefined) return written;
    const known = this.#at(knownMs);
    return written && written > known && written <= this.#clock.now() ? written : known;
  }

  #at(ticksMs: number): Date {
    return new Date(this.#clock.now().getTime() + ticksMs - this.#clock.ticksMs());
  }
}
