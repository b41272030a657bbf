import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { Clock } from "../../lib/time/clock.ts";

/**
 * For how long this process has seen the members of one pool, in monotonic milliseconds. Creation times are by the API server's clock:
 * under a controller whose clock is ahead, each new member would seem old, and be replaced at once, for ever.
 */
export class MemberAges {
  readonly #clock: Clock;
  #firstSeenMs: ReadonlyMap<string, number> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** By UID; these are the members now, and others are forgotten. A new leader sees all of them for the first time. */
  of(members: readonly Stored<Sandbox>[]): ReadonlyMap<string, number> {
    const nowMs = this.#clock.ticksMs();
    const seen = members.map(({ metadata: { uid } }) => [uid, this.#firstSeenMs.get(uid) ?? nowMs] as const);
    this.#firstSeenMs = new Map(seen);
    return new Map(seen.map(([uid, firstMs]) => [uid, nowMs - firstMs]));
  }
}
