import { Counter, type Registry } from "prom-client";
import { type RefusalReason, refusalReasons } from "../../suspension/hibernation/memory-provider.ts";
import { losesMemory, type StatusTransition, staysAwake } from "../events.ts";

const unknown: RefusalReason = "NotCaptured";
const results = ["Stopped", "StayedAwake"] as const;

/** Counts how often memory that was to be kept could not be kept. */
export class MemoryMetrics {
  readonly #refused: Counter<"reason" | "result">;

  constructor(registry: Registry) {
    this.#refused = new Counter({
      name: "rouse_hibernation_refusals_total",
      help: "Sandboxes with suspensionStrategy.type Hibernate whose memory could not be kept, by reason (the first, if there are several) and result: Stopped (suspended without the memory) or StayedAwake (blocked from suspension for inactivity, counted when the block begins).",
      labelNames: ["reason", "result"],
      registers: [registry],
    });
    for (const reason of refusalReasons) for (const result of results) this.#refused.inc({ reason, result }, 0);
  }

  passed(transition: StatusTransition): void {
    const { hibernation, memoryRefusal } = transition;
    if (losesMemory(transition)) this.#refused.inc({ reason: hibernation?.reason ?? unknown, result: "Stopped" });
    if (staysAwake(transition)) this.#refused.inc({ reason: memoryRefusal?.reason ?? unknown, result: "StayedAwake" });
  }
}
