import { Counter, type Registry } from "prom-client";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";

// Whoever lists an object lists it again: one line a minute says what there is to say.
const quietMs = 60_000;

/** Tells what conversions could not read and took for absent: a fault of whoever wrote it, which breaks nothing here. */
export class IgnoredStates {
  readonly #counter: Counter | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor({ registry, clock, log }: { registry?: Registry | undefined; clock: Clock; log: Logger }) {
    this.#clock = clock;
    this.#log = log;
    this.#counter =
      registry &&
      new Counter({
        name: "rouse_conversion_ignored_states_total",
        help: "Conversions to v1alpha1 in which the annotation with the v1alpha1 original could not be read.",
        registers: [registry],
      });
  }

  tell(ignored: readonly string[]): void {
    const [first] = ignored;
    if (first === undefined) return;
    this.#counter?.inc(ignored.length);
    if (this.#clock.ticksMs() - this.#toldMs < quietMs) return;
    this.#toldMs = this.#clock.ticksMs();
    this.#log.warn(
      { first, count: ignored.length },
      "an object's v1alpha1 original cannot be read; converted without it",
    );
  }
}
