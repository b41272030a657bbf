import type { TcpFront } from "../../../api/between-programs/tcp-front.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { Clock } from "../../../lib/time/clock.ts";

interface FirstSeen {
  /** By the monotonic clock. */
  readonly atMs: number;
  /** How old it was then, by the wall clock: another process may have written it. */
  readonly ageMs: number;
}

/** How long ago ports were released, by the times in the annotation of their slice. */
export type RestedMs = ReadonlyMap<string, number>;

/**
 * How long released ports rest already. It counts by the monotonic clock from when this process first sees the time of the release, so that
 * no change of the wall clock ends a quarantine too early. Only the time before that is by the wall clock: after a change of leader nothing
 * else is known of it.
 */
export class FreedAges {
  readonly #clock: Clock;
  /** By the slice's key, then by the time as it is written. There are no more than the slices name. */
  readonly #seen = new Map<string, ReadonlyMap<string, FirstSeen>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes the times in the current content of a slice; undefined: it is unreadable. */
  see(key: string, front: TcpFront | undefined): void {
    const times = new Set([front?.freedAt, ...(front?.freedPorts ?? []).map(({ freedAt }) => freedAt)]);
    times.delete(undefined);
    if (times.size === 0) return this.forget(key);
    const before = this.#seen.get(key);
    const atMs = this.#clock.ticksMs();
    const now = this.#clock.now();
    const seen = new Map<string, FirstSeen>();
    for (const freedAt of times) {
      if (freedAt === undefined) continue;
      const ageMs = Math.max(now.getTime() - (readTime(freedAt) ?? now).getTime(), 0);
      seen.set(freedAt, before?.get(freedAt) ?? { atMs, ageMs });
    }
    this.#seen.set(key, seen);
  }

  /** For each time in a slice, how long ago it was. */
  restedMs(key: string): RestedMs {
    const nowMs = this.#clock.ticksMs();
    const seen = this.#seen.get(key) ?? new Map<string, FirstSeen>();
    return new Map([...seen].map(([freedAt, { atMs, ageMs }]) => [freedAt, ageMs + nowMs - atMs]));
  }

  /** The slice is gone. */
  forget(key: string): void {
    this.#seen.delete(key);
  }

  /** Number of slices with released ports. */
  get size(): number {
    return this.#seen.size;
  }
}
