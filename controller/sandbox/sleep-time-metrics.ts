import { Histogram, type Registry } from "prom-client";
import { findCondition } from "../../api/conditions.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Passage } from "./transitions.ts";

const buckets = [10, 30, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800];

/** For how long sandboxes were asleep and awake, told when that ends. Their status knows since when, whoever led then. */
export class SleepTimeMetrics {
  readonly #clock: Clock;
  readonly #asleep: Histogram;
  readonly #awake: Histogram;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    const registers = [registry];
    this.#asleep = new Histogram({
      name: "rouse_sandbox_asleep_seconds",
      help: "How long sandboxes that were asked to run again had been suspended.",
      buckets,
      registers,
    });
    this.#awake = new Histogram({
      name: "rouse_sandbox_awake_seconds",
      help: "How long sandboxes that are suspended now had not been.",
      buckets,
      registers,
    });
  }

  passed({ sandbox, before, after }: Passage): void {
    const was = findCondition(before, "Suspended");
    const is = findCondition(after, "Suspended");
    const slept = was?.status === "True";
    const sleeps = is?.status === "True";
    if (slept === sleeps) return;
    const since = was?.lastTransitionTime ?? sandbox.metadata.creationTimestamp;
    if (since === undefined) return;
    const seconds = Math.max(this.#clock.now().getTime() - Date.parse(since), 0) / 1_000;
    (slept ? this.#asleep : this.#awake).observe(seconds);
  }
}
