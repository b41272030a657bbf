import { Counter, type Registry } from "prom-client";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";

/** Reports failed reviews: an invalid object, or a review that took too long or too much memory. */
export class ConversionFailures {
  readonly #counter: Counter;
  /** A failed review is retried at once, and any client may send one. */
  readonly #mayLog: OncePerMinute;
  readonly #log: Logger;

  constructor({ registry, clock, log }: { registry?: Registry | undefined; clock: Clock; log: Logger }) {
    this.#mayLog = new OncePerMinute(clock);
    this.#log = log;
    this.#counter = new Counter({
      name: "rouse_conversion_failures_total",
      help: "Conversion reviews that failed: an object was invalid, the review reached its limit of time or memory, or no process was available.",
      registers: registry ? [registry] : [],
    });
  }

  /** One line a minute at most. */
  record(peer: string, reason: string): void {
    this.#counter.inc();
    if (!this.#mayLog.asks("failed")) return;
    this.#log.warn({ peer, reason }, "conversion review failed");
  }
}
