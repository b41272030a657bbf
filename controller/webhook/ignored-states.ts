import { Counter, type Registry } from "prom-client";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import type { Ignored } from "./convert-frames.ts";

/** Reports annotations that conversions could not read, or had no room for, and ignored: this affects only that object. */
export class IgnoredStates {
  readonly #counter: Counter | undefined;
  /** Clients list an object again and again. */
  readonly #mayLog: OncePerMinute;
  readonly #log: Logger;

  constructor({ registry, clock, log }: { registry?: Registry | undefined; clock: Clock; log: Logger }) {
    this.#mayLog = new OncePerMinute(clock);
    this.#log = log;
    this.#counter =
      registry &&
      new Counter({
        name: "rouse_conversion_ignored_states_total",
        help: "Times that a conversion left out data of the other API version: an annotation could not be read or used, or held an unknown policy, or all annotations of the object together would have exceeded the API server's limit of 262144 bytes. Each conversion of an object counts.",
        registers: [registry],
      });
  }

  record({ count, first }: Ignored): void {
    if (first === undefined) return;
    this.#counter?.inc(count);
    if (!this.#mayLog.asks("ignored")) return;
    this.#log.warn(
      { first, count },
      "a conversion left out data of the other API version: an annotation cannot be read, has an unknown value, or does not fit into the object",
    );
  }
}
