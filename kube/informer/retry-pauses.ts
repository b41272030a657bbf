import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Clock } from "../../lib/time/clock.ts";

// Held requests wait for the first list after an outage. Most outages are restarts of an API server, and end within a
// minute. In that time a pause adds at most a second. There is one informer per kind.
const atFirst: Backoff = { baseMs: 100, maxMs: 1_000, jitter: 0.5 };
const later: Backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.5 };
const atFirstMs = 60_000;

/** The pauses between attempts to follow a server. */
export class RetryPauses {
  readonly #clock: Clock;
  #failures = 0;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Consecutive failures. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure, and returns the pause after it in milliseconds. */
  failed(): number {
    const nowMs = this.#clock.ticksMs();
    if (this.#failures === 0) this.#sinceMs = nowMs;
    this.#failures += 1;
    return backoffDelayMs(this.#failures, nowMs - this.#sinceMs < atFirstMs ? atFirst : later);
  }

  succeeded(): void {
    this.#failures = 0;
  }
}
