import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { RestoreOutcome } from "../../api/kinds/memory-image.ts";
import { type FailureReason, failureReasons } from "./capture/capture-failed.ts";
import { type RefusalReason, refusalReasons } from "./decide/refusal.ts";
import { type CaptureDurations, refusedReasons } from "./store/image-store.ts";

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const parts = ["freeze", "write", "sync", "hash"] as const;
const outcomes: readonly RestoreOutcome[] = ["Restored", "Failed", "Refused"];

/** What a node agent counts. */
export class AgentMetrics {
  readonly #captures: Counter;
  readonly #failures: Counter<"reason">;
  readonly #bytes: Counter;
  readonly #evictions: Counter;
  readonly #durations: Histogram<"part">;
  readonly #restores: Counter<"outcome">;
  readonly #refused: Counter<"reason">;

  /** `frozen` counts the captured Pods that are not deleted; `used` is the size of all images. */
  constructor(registry: Registry, state: { readonly frozen: () => number; readonly used: () => number }) {
    const registers = [registry];
    this.#captures = new Counter({
      name: "rouse_node_captures_total",
      help: "Pods whose memory was captured on this node.",
      registers,
    });
    this.#failures = new Counter({
      name: "rouse_node_capture_failures_total",
      help: "Captures of Pods on this node that failed, by reason.",
      labelNames: ["reason"] as const,
      registers,
    });
    for (const reason of new Set([...failureReasons, ...refusalReasons])) this.#failures.inc({ reason }, 0);
    this.#bytes = new Counter({
      name: "rouse_node_captured_bytes_total",
      help: "Size of all memory images that were captured on this node.",
      registers,
    });
    this.#evictions = countEvictions(registry);
    this.#durations = new Histogram({
      name: "rouse_node_capture_seconds",
      help: "Duration of the parts of a capture: freeze, write, sync and hash.",
      labelNames: ["part"] as const,
      buckets: seconds,
      registers,
    });
    for (const part of parts) this.#durations.zero({ part });
    this.#restores = new Counter({
      name: "rouse_node_restores_total",
      help: "Pods that asked for memory on this node, by outcome: Restored, Failed (gVisor could not restore the memory) or Refused (the shim did not use the memory).",
      labelNames: ["outcome"] as const,
      registers,
    });
    for (const outcome of outcomes) this.#restores.inc({ outcome }, 0);
    this.#refused = new Counter({
      name: "rouse_node_refused_pods_total",
      help: "Pods that asked for memory on this node and did not get it, because they have no valid signature of the controller (NotSigned, WrongSignature, NoPublicKey), the memory image is missing (ImageMissing), or another Pod has used it (AlreadyUsed).",
      labelNames: ["reason"] as const,
      registers,
    });
    for (const reason of refusedReasons) this.#refused.inc({ reason }, 0);
    new Gauge({
      name: "rouse_node_frozen_pods",
      help: "Captured Pods of this node whose deletion has not begun.",
      registers,
      collect() {
        this.set(state.frozen());
      },
    });
    new Gauge({
      name: "rouse_node_store_bytes",
      help: "Size of all memory images on this node.",
      registers,
      collect() {
        this.set(state.used());
      },
    });
  }

  captured(bytes: number, durations: CaptureDurations): void {
    this.#captures.inc();
    this.#bytes.inc(bytes);
    for (const part of parts) this.#durations.observe({ part }, durations[`${part}Ms`] / 1_000);
  }

  captureFailed(reason: FailureReason | RefusalReason): void {
    this.#failures.inc({ reason });
  }

  evicted(): void {
    this.#evictions.inc();
  }

  refused(reason: string): void {
    this.#refused.inc({ reason });
  }

  restored(outcome: RestoreOutcome): void {
    this.#restores.inc({ outcome });
  }
}

const countEvictions = (registry: Registry): Counter =>
  new Counter({
    name: "rouse_node_evictions_total",
    help: "Memory images of this node that were removed to make room for another one, the oldest first.",
    registers: [registry],
  });
