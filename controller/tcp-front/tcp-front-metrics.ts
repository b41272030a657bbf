import { Counter, Gauge, type Registry } from "prom-client";
import type { FrontAction } from "./decide.ts";
import type { PortCounts } from "./ports/port-ledger.ts";

/** Values that are computed only when the metrics are read. */
export interface TcpFrontCounts {
  ports(): PortCounts;
  /** Ports of sandboxes that have no activator port. */
  refused(): number;
  /** Confirmations that activators owe. */
  missing(): number;
  /** Slices that wait for their turn to be written. */
  waiting(): number;
}

type GaugeOfCounts = readonly [name: string, help: string, read: (counts: TcpFrontCounts) => number];

const gauges: readonly GaugeOfCounts[] = [
  [
    "rouse_tcp_front_allocated_ports",
    "Current number of activator ports that are assigned to a port of a sandbox.",
    (counts) => counts.ports().allocated,
  ],
  [
    "rouse_tcp_front_quarantined_ports",
    "Current number of activator ports in quarantine after they were released.",
    (counts) => counts.ports().quarantined,
  ],
  [
    "rouse_tcp_front_refused_ports",
    "Current number of sandbox ports without an activator port, because a limit was reached or no activator port was free.",
    (counts) => counts.refused(),
  ],
  [
    "rouse_tcp_front_unconfirmed_ports",
    "Current number of missing confirmations. Each activator confirms for each assigned port that it listens there.",
    (counts) => counts.missing(),
  ],
  [
    "rouse_tcp_front_waiting_slices",
    "Current number of EndpointSlices whose next write waits for the rate limit.",
    (counts) => counts.waiting(),
  ],
];

/** The metrics of in-cluster names; they have no values until this replica leads. */
export class TcpFrontMetrics {
  readonly #writes: Counter<"verb" | "outcome">;
  readonly #foreign: Counter;
  #counts: TcpFrontCounts | undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#writes = new Counter({
      name: "rouse_tcp_front_slice_writes_total",
      help: "Writes of EndpointSlices with activator ports, by verb and outcome: written or failed.",
      labelNames: ["verb", "outcome"],
      registers,
    });
    this.#foreign = new Counter({
      name: "rouse_tcp_front_foreign_slices_total",
      help: "Repairs of EndpointSlices that have the label of the controller and into which another client wrote. A repair removes the ports that the controller did not assign, or deletes the EndpointSlice if its assignment is malformed.",
      registers,
    });
    for (const [name, help, read] of gauges) {
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
    }
  }

  counting(counts: TcpFrontCounts): void {
    this.#counts = counts;
  }

  written(verb: FrontAction["do"]): void {
    this.#writes.inc({ verb, outcome: "written" });
  }

  foreign(): void {
    this.#foreign.inc();
  }

  failed(verb: FrontAction["do"]): void {
    this.#writes.inc({ verb, outcome: "failed" });
  }
}
