import { Counter, type Registry } from "prom-client";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Ignored } from "./convert-frames.ts";

// Clients list an object again and again: one line a minute is enough.
const quietMs = 60_000;

/** Reports annotations that conversions could not read, or had no room for, and ignored: this affects only that object. */
export class IgnoredStates {
  readonly #counter: Counter | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor({ registry, clock, log }: { registry?: Registry | undefined; clock: Clock; log: Logger }) {
    this.#clock = clock;
    this.#log = log;
    this.#counter =
      registry &&
      new Counter({
        name: "rouse_conversion_ignored_states_total",
        help: "Annotations with the state of the other API version that a conversion left out: they could not be parsed, or exceeded the API server's limit of 262144 bytes.",
        registers: [registry],
      });
  }

  record({ count, first }: Ignored): void {
    if (first === undefined) return;
    this.#counter?.inc(count);
    if (this.#clock.ticksMs() - this.#loggedMs < quietMs) return;
    this.#loggedMs = this.#clock.ticksMs();
    this.#log.warn(
      { first, count },
      "converted an object without its annotation with the state of the other API version",
    );
  }
}
