import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { BlockedSuspension } from "../handshake/blocked-suspension.ts";
import { type ActivityTimes, timesToWrite } from "./activity-times.ts";
import type { Use } from "./activity-view.ts";
import type { Idleness } from "./decide-idle.ts";

/** Says what the status of a sandbox is to tell of its use. */
export interface ActivityTimesKeeper {
  /** To be written now; undefined when what is written is good enough. */
  timesToWrite(sandbox: Stored<Sandbox>): ActivityTimes | undefined;
  /** Whether it would sleep if an activator answered. */
  heldUp(sandbox: Stored<Sandbox>): BlockedSuspension;
}

/** What is known of the use of one sandbox at this moment. */
export interface KnownUse {
  readonly idleness: Idleness;
  readonly use: Use;
}

/** Remembers when the times of each sandbox were written, for they are written seldom. */
export class UseTimes {
  readonly #clock: Clock;
  readonly #sinceMs: number;
  readonly #writtenMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.ticksMs();
  }

  /** What is to be written; `written` then takes note that it was. */
  due(sandbox: Stored<Sandbox>, known: KnownUse): ActivityTimes | undefined {
    const sinceWrittenMs = this.#clock.ticksMs() - (this.#writtenMs.get(sandbox.metadata.uid) ?? this.#sinceMs);
    return timesToWrite(sandbox.status ?? {}, this.#momentsOf(sandbox, known), sinceWrittenMs);
  }

  written(sandboxUid: string): void {
    this.#writtenMs.set(sandboxUid, this.#clock.ticksMs());
  }

  forget(sandboxUid: string): void {
    this.#writtenMs.delete(sandboxUid);
  }

  #momentsOf({ spec, status }: Stored<Sandbox>, { idleness, use }: KnownUse) {
    if (spec.autoSuspension?.inactivityTimeoutSeconds === undefined) return { last: undefined, next: undefined };
    if (idleness.is === "awake") return { last: this.#at(idleness.lastMs), next: this.#at(idleness.sleepsAtMs) };
    if (idleness.is === "idle") return { last: this.#at(idleness.lastMs), next: this.#clock.now() };
    // Asleep, it was last used when it was; whoever leads since then has only the status to know it from.
    const last = use.lastMs === undefined ? readTime(status?.lastActivityTime) : this.#at(use.lastMs);
    return { last, next: undefined };
  }

  #at(ticksMs: number): Date {
    return new Date(this.#clock.now().getTime() + ticksMs - this.#clock.ticksMs());
  }
}
