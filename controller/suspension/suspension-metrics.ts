import { Counter, type Registry } from "prom-client";
import type { SuspensionCause } from "../../api/suspension.ts";

/** Counts what the handshakes come to. */
export class SuspensionMetrics {
  readonly #sealed: Counter<"cause">;
  readonly #handshakes: Counter<"outcome">;
  readonly #cut: Counter;
  readonly #wakes: Counter;

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
      help: "Suspensions that came to an end, by outcome: carried_out or called_off.",
      labelNames: ["outcome"],
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
  }

  sealed(cause: SuspensionCause): void {
    this.#sealed.inc({ cause });
  }

  carriedOut(cut: number): void {
    this.#handshakes.inc({ outcome: "carried_out" });
    if (cut > 0) this.#cut.inc(cut);
  }

  calledOff(): void {
    this.#handshakes.inc({ outcome: "called_off" });
  }

  woken(): void {
    this.#wakes.inc();
  }
}
