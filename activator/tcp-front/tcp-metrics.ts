import { Counter, Gauge, type Registry } from "prom-client";
import type { ErrorCode } from "../errors.ts";
import { type PeerRefusal, peerRefusals } from "./peers.ts";
import type { TunnelEnding } from "./tcp-tunnel.ts";

export type TcpOutcome = TunnelEnding | "refused" | "clientLeft";
export const tcpOutcomes = ["carried", "timedOut", "closedForSleep", "refused", "clientLeft"] as const;

/** What came to the ports of sandboxes. */
export function createTcpMetrics(registry: Registry, sizes: { readonly listeners: () => number }) {
  const registers = [registry];
  const connections = new Counter({
    name: "rouse_activator_tcp_connections_total",
    help: "Connections to ports of sandboxes, by how they ended.",
    labelNames: ["outcome"] as const,
    registers,
  });
  const open = new Gauge({
    name: "rouse_activator_tcp_connections",
    help: "Connections to ports of sandboxes that wait for one or are carried now.",
    labelNames: ["state"] as const,
    registers,
  });
  const refused = new Counter({
    name: "rouse_activator_tcp_refused_total",
    help: "Connections to ports of sandboxes that were not carried, by reason.",
    labelNames: ["reason"] as const,
    registers,
  });
  const failures = new Counter({
    name: "rouse_activator_tcp_listen_failures_total",
    help: "Attempts to listen on a port of a sandbox that failed, by the system's code.",
    labelNames: ["code"] as const,
    registers,
  });
  new Gauge({
    name: "rouse_activator_tcp_listeners",
    help: "Ports of sandboxes on which connections are accepted.",
    registers,
    collect() {
      this.set(sizes.listeners());
    },
  });
  for (const outcome of tcpOutcomes) connections.inc({ outcome }, 0);
  for (const reason of peerRefusals) refused.inc({ reason }, 0);
  for (const state of ["waiting", "carried"] as const) open.set({ state }, 0);

  return {
    waits: () => open.inc({ state: "waiting" }),
    waited: () => open.dec({ state: "waiting" }),
    carries: () => open.inc({ state: "carried" }),
    carried: () => open.dec({ state: "carried" }),
    ended: (outcome: TcpOutcome) => connections.inc({ outcome }),
    refused: (reason: PeerRefusal | ErrorCode) => refused.inc({ reason }),
    listenFailed: (code: string) => failures.inc({ code }),
  };
}

export type TcpMetrics = ReturnType<typeof createTcpMetrics>;
