import { Histogram, type Registry } from "prom-client";
import { findCondition } from "../../../api/rules/conditions.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { StatusTransition } from "../events.ts";

const buckets = [10, 30, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800];

/**
 * How long sandboxes were suspended and how long they ran, observed at the end of each phase. The status has the start,
 * so a change of leader does not matter.
 */
export class SleepTimeMetrics {
  readonly #clock: Clock;
  readonly #asleep: Histogram;
  readonly #awake: Histogram;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    const registers = [registry];
    this.#asleep = new Histogram({
      name: "rouse_sandbox_asleep_seconds",
      help: "How long sandboxes had been suspended when they were resumed.",
      buckets,
      registers,
    });
    this.#awake = new Histogram({
      name: "rouse_sandbox_awake_seconds",
      help: "How long sandboxes had run when they were suspended.",
      buckets,
      registers,
    });
  }

  passed({ sandbox, before, after }: StatusTransition): void {
    const was = findCondition(before, "Suspended");
    const is = findCondition(after, "Suspended");
    const slept = was?.status === "True";
    const sleeps = is?.status === "True";
    if (slept === sleeps) return;
    const since = readTime(was?.lastTransitionTime ?? sandbox.metadata.creationTimestamp);
    if (since === undefined) return;
    const seconds = Math.max(this.#clock.now().getTime() - since.getTime(), 0) / 1_000;
    (slept ? this.#asleep : this.#awake).observe(seconds);
  }
}
