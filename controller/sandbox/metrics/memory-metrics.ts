import { Counter, type Registry } from "prom-client";
import { type RefusalReason, refusalReasons } from "../../suspension/hibernation/memory-provider.ts";
import { type LossReason, lossReasons } from "../../suspension/hibernation/restore.ts";
import { keepsMemory, losesMemory, type StatusTransition, staysAwake, wakeAfterLoss, wakeOf } from "../events.ts";

const unknown: RefusalReason = "NotCaptured";
const unknownLoss: LossReason = "ImageLost";
const results = ["Stopped", "StayedAwake"] as const;

/** Counts how often memory that was to be kept was kept, and came back. */
export class MemoryMetrics {
  readonly #refused: Counter<"reason" | "result">;

  readonly #captured: Counter;
  readonly #woken: Counter<"mode" | "reason">;

  constructor(registry: Registry) {
    this.#refused = new Counter({
      name: "rouse_hibernation_refusals_total",
      help: "Sandboxes with suspensionStrategy.type Hibernate whose memory could not be kept, by reason (the first, if there are several) and result: Stopped (suspended without the memory, or lost it during the sleep) or StayedAwake (blocked from suspension for inactivity, counted when the block begins).",
      labelNames: ["reason", "result"],
      registers: [registry],
    });
    this.#captured = new Counter({
      name: "rouse_hibernation_captures_total",
      help: "Suspensions that kept the memory of the sandbox on its node.",
      registers: [registry],
    });
    this.#woken = new Counter({
      name: "rouse_hibernation_wakes_total",
      help: "Wakes of sandboxes whose memory was kept, by mode (Restored or Anew: started without the memory) and reason (empty if restored). Memory that was lost during the sleep counts in rouse_hibernation_refusals_total at the loss, and here at the wake, unless suspensionStrategy.type was changed after the loss.",
      labelNames: ["mode", "reason"],
      registers: [registry],
    });
    this.#woken.inc({ mode: "Restored", reason: "" }, 0);
    for (const reason of lossReasons) this.#woken.inc({ mode: "Anew", reason }, 0);
    for (const reason of refusalReasons) for (const result of results) this.#refused.inc({ reason, result }, 0);
  }

  passed(transition: StatusTransition): void {
    const { hibernation, memoryRefusal } = transition;
    const wake = wakeOf(transition) ?? wakeAfterLoss(transition);
    if (wake) this.#woken.inc({ mode: wake.mode, reason: wake.mode === "Anew" ? (wake.reason ?? unknownLoss) : "" });
    if (keepsMemory(transition)) this.#captured.inc();
    if (losesMemory(transition)) this.#refused.inc({ reason: hibernation?.reason ?? unknown, result: "Stopped" });
    if (staysAwake(transition)) this.#refused.inc({ reason: memoryRefusal?.reason ?? unknown, result: "StayedAwake" });
  }
}
