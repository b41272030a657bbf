import { Gauge, type Registry } from "prom-client";
import type { WatchedStore } from "./store-health.ts";

/** Registers `rouse_store_age_seconds`. */
export function registerStoreAges(registry: Registry, stores: readonly WatchedStore[]): void {
  new Gauge({
    name: "rouse_store_age_seconds",
    help: "Seconds since the API server last sent anything for the watch of this kind; before the first list, since the start of the replica.",
    labelNames: ["kind"],
    registers: [registry],
    collect() {
      // Of two watches of one kind, the older one counts.
      const ages = new Map<string, number>();
      for (const store of stores) ages.set(store.kind, Math.max(store.silentMs(), ages.get(store.kind) ?? 0));
      for (const [kind, silentMs] of ages) this.set({ kind }, silentMs / 1_000);
    },
  });
}
