import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { SuspensionCause } from "../../api/suspension.ts";

/** `overtaken`: somebody let the sandbox run, or changed it otherwise, before its Pod was sealed. */
const outcomes = ["carried_out", "called_off", "overtaken"] as const;
const causes: readonly SuspensionCause[] = ["Inactivity", "Person"];
const drainBuckets = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400];

/** Counts what the handshakes come to. */
export class SuspensionMetrics {
  readonly #sealed: Counter<"cause">;
  readonly #handshakes: Counter<"outcome">;
  readonly #drain: Histogram<"cause">;
  readonly #cut: Counter;
  readonly #wakes: Counter;
  readonly #unreachable: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#sealed = new Counter({
      name: "rouse_suspensions_total",
      help: "Pods that were doomed so that their sandbox sleeps, by cause.",
      labelNames: ["cause"],
      registers,
    });
    this.#handshakes = new Counter({
      name: "rouse_suspension_handshakes_total",
      help: "Suspensions that came to an end, by outcome: carried_out, called_off or overtaken.",
      labelNames: ["outcome"],
      registers,
    });
    this.#drain = new Histogram({
      name: "rouse_suspension_drain_seconds",
      help: "Time from the seal of a Pod until it was deleted, by the cause of the suspension.",
      labelNames: ["cause"],
      buckets: drainBuckets,
      registers,
    });
    this.#cut = new Counter({
      name: "rouse_suspension_cut_requests_total",
      help: "Requests that were in flight when the time to drain was over.",
      registers,
    });
    this.#wakes = new Counter({
      name: "rouse_connection_wakes_total",
      help: "Sandboxes that a connection woke.",
      registers,
    });
    this.#unreachable = new Gauge({
      name: "rouse_activators_unreachable",
      help: "Activators that do not answer; each keeps sandboxes awake, for at most five minutes.",
      registers,
    });
    for (const cause of causes) this.#sealed.inc({ cause }, 0);
    for (const outcome of outcomes) this.#handshakes.inc({ outcome }, 0);
  }

  sealed(cause: SuspensionCause): void {
    this.#sealed.inc({ cause });
  }

  carriedOut(cause: SuspensionCause, sealedForMs: number, cut: number): void {
    this.#handshakes.inc({ outcome: "carried_out" });
    this.#drain.observe({ cause }, sealedForMs / 1_000);
    if (cut > 0) this.#cut.inc(cut);
  }

  calledOff(): void {
    this.#handshakes.inc({ outcome: "called_off" });
  }

  overtaken(): void {
    this.#handshakes.inc({ outcome: "overtaken" });
  }

  woken(): void {
    this.#wakes.inc();
  }

  unreachable(activators: number): void {
    this.#unreachable.set(activators);
  }
}
