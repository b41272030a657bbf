import { Counter, Gauge, type Registry } from "prom-client";
import type { FrontAction } from "./decide.ts";
import type { PortCounts } from "./port-ledger.ts";

/** What is counted only when somebody looks. */
export interface TcpFrontCounts {
  ports(): PortCounts;
  /** Confirmations that activators owe. */
  missing(): number;
  /** Slices that wait for their turn to be written. */
  waiting(): number;
}

/** Tells how in-cluster names are kept; until somebody leads there is nothing to tell. */
export class TcpFrontMetrics {
  readonly #writes: Counter<"verb" | "outcome">;
  #counts: TcpFrontCounts | undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#writes = new Counter({
      name: "rouse_tcp_front_slice_writes_total",
      help: "Writes of EndpointSlices that lead to activators, by verb and outcome: written or failed.",
      labelNames: ["verb", "outcome"],
      registers,
    });
    const gauge = (name: string, help: string, read: (counts: TcpFrontCounts) => number) => {
      const counts = () => this.#counts;
      new Gauge({
        name,
        help,
        registers,
        collect() {
          const now = counts();
          if (now) this.set(read(now));
        },
      });
    };
    gauge("rouse_tcp_front_allocated_ports", "Ports of activators that stand for a port of a sandbox.", (counts) => {
      return counts.ports().allocated;
    });
    gauge("rouse_tcp_front_quarantined_ports", "Ports that were freed and are given to nobody yet.", (counts) => {
      return counts.ports().quarantined;
    });
    gauge(
      "rouse_tcp_front_unconfirmed_ports",
      "Ports on which an activator has not said that it accepts.",
      (counts) => {
        return counts.missing();
      },
    );
    gauge("rouse_tcp_front_waiting_slices", "EndpointSlices whose next write waits for its turn.", (counts) => {
      return counts.waiting();
    });
  }

  counting(counts: TcpFrontCounts): void {
    this.#counts = counts;
  }

  written(verb: FrontAction["do"]): void {
    this.#writes.inc({ verb, outcome: "written" });
  }

  failed(verb: FrontAction["do"]): void {
    this.#writes.inc({ verb, outcome: "failed" });
  }
}
