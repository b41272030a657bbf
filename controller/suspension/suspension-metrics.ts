import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { SuspensionCause } from "../../api/rules/suspension.ts";

/** `overtaken`: the sandbox was resumed or changed otherwise before its Pod was sealed. */
const outcomes = ["completed", "cancelled", "overtaken"] as const;
const causes: readonly SuspensionCause[] = ["Inactivity", "Person"];
const drainBuckets = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400];

/** Counts the outcomes of handshakes. */
export class SuspensionMetrics {
  readonly #sealed: Counter<"cause">;
  readonly #handshakes: Counter<"outcome">;
  readonly #drain: Histogram<"cause">;
  readonly #cut: Counter;
  readonly #unasked: Counter;
  readonly #wakes: Counter;
  readonly #unreachable: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#sealed = new Counter({
      name: "rouse_suspensions_total",
      help: "Suspensions that marked a Pod for deletion, by cause: Inactivity, or Person (any client but the controller set operatingMode, or the record of the cause is lost).",
      labelNames: ["cause"],
      registers,
    });
    this.#handshakes = new Counter({
      name: "rouse_suspension_handshakes_total",
      help: "Suspensions that ended, by outcome: completed, cancelled (the controller set operatingMode back to Running), or overtaken (another change of the sandbox came before its Pod was marked for deletion).",
      labelNames: ["outcome"],
      registers,
    });
    this.#drain = new Histogram({
      name: "rouse_suspension_drain_seconds",
      help: "Time that Pods were drained, from the mark for deletion to the deletion, by the cause of the suspension.",
      labelNames: ["cause"],
      buckets: drainBuckets,
      registers,
    });
    this.#cut = new Counter({
      name: "rouse_suspension_cut_requests_total",
      help: "Requests and connections that were still in flight when a drain reached its timeout, and were cut by the capture or the deletion of the Pod.",
      registers,
    });
    this.#unasked = new Counter({
      name: "rouse_suspension_unasked_deletions_total",
      help: "Pods that were captured or deleted for a suspension while an activator that may have proxied requests to them did not respond.",
      registers,
    });
    this.#wakes = new Counter({
      name: "rouse_connection_wakes_total",
      help: "Wakes by requests, TCP connections and data on open connections, as the activators report them.",
      registers,
    });
    this.#unreachable = new Gauge({
      name: "rouse_activators_unreachable",
      help: "Current number of activators that do not respond. Each blocks suspension for inactivity until it responds, its Pod is gone or has not been Ready for 5 minutes, or --activator-silence-limit has passed.",
      registers,
    });
    for (const cause of causes) this.#sealed.inc({ cause }, 0);
    for (const outcome of outcomes) this.#handshakes.inc({ outcome }, 0);
  }

  sealed(cause: SuspensionCause): void {
    this.#sealed.inc({ cause });
  }

  completed(cause: SuspensionCause, sealedForMs: number): void {
    this.#handshakes.inc({ outcome: "completed" });
    this.#drain.observe({ cause }, sealedForMs / 1_000);
  }

  cut({ cut, unasked }: { readonly cut: number; readonly unasked: number }): void {
    if (cut > 0) this.#cut.inc(cut);
    if (unasked > 0) this.#unasked.inc();
  }

  cancelled(): void {
    this.#handshakes.inc({ outcome: "cancelled" });
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
