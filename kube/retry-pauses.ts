import { type Backoff, backoffDelayMs } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";

// Held requests wait for the first list after an outage. Most outages are an API server that starts again, and over
// within a minute: as long as that is possible a pause adds a second to them at most. There is one of us per kind.
const atFirst: Backoff = { baseMs: 100, maxMs: 1_000, jitter: 0.5 };
const later: Backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.5 };
const atFirstMs = 60_000;

/** How long to wait before a server that could not be followed is tried again. */
export class RetryPauses {
  readonly #clock: Clock;
  #failures = 0;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** In a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Notes a failure, and returns the pause after it in milliseconds. */
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
