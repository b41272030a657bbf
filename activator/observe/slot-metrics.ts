import { Gauge, type Registry } from "prom-client";
import type { HoldLimits } from "../hold/hold-limits.ts";

const shares = ["outsiders", "others"] as const;
type SharesOfSlots = Readonly<Record<(typeof shares)[number], Pick<HoldLimits, "total" | "max">>>;

/** Reports the slots of held requests: outsiders have slots of their own. */
export function createSlotMetrics(registry: Registry, slots: SharesOfSlots): void {
  const registers = [registry];
  const labelNames = ["clients"] as const;
  new Gauge({
    name: "rouse_activator_held_slots",
    help: "Current number of slots in use by requests and TCP connections that are held, or that connect to a running sandbox, by clients: outsiders (connections by name, and of Pods of other namespaces) or others. A request takes one slot for each 8 KiB, or part of 8 KiB, of its head and kept body.",
    labelNames,
    registers,
    collect() {
      for (const clients of shares) this.set({ clients }, slots[clients].total);
    },
  });
  const limit = new Gauge({
    name: "rouse_activator_held_slots_limit",
    help: "Limit of rouse_activator_held_slots, by clients: others have --held-max-total slots, and outsiders a quarter as many in addition.",
    labelNames,
    registers,
  });
  for (const clients of shares) limit.set({ clients }, slots[clients].max);
}
