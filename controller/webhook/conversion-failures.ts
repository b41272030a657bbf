import { Counter, type Registry } from "prom-client";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";

// A failed review is retried at once, and any client may send one.
const quietMs = 60_000;

/** Reports failed reviews: an invalid object, or a review that took too long or too much memory. */
export class ConversionFailures {
  readonly #counter: Counter;
  readonly #clock: Clock;
  readonly #log: Logger;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor({ registry, clock, log }: { registry?: Registry | undefined; clock: Clock; log: Logger }) {
    this.#clock = clock;
    this.#log = log;
    this.#counter = new Counter({
      name: "rouse_conversion_failures_total",
      help: "Conversion reviews that failed: an invalid object, the time limit, the memory limit, or no free process.",
      registers: registry ? [registry] : [],
    });
  }

  /** One line a minute at most. */
  record(peer: string, reason: string): void {
    this.#counter.inc();
    if (this.#clock.ticksMs() - this.#loggedMs < quietMs) return;
    this.#loggedMs = this.#clock.ticksMs();
    this.#log.warn({ peer, reason }, "conversion review failed");
  }
}
