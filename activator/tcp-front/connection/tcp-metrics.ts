import { Counter, Gauge, type Registry } from "prom-client";
import type { ErrorCode } from "../../failures/errors-for-clients.ts";
import { type ConnectionRefusal, nameRefusals, peerRefusals } from "./refusals.ts";
import type { TunnelEnding } from "./tcp-tunnel.ts";

export type TcpOutcome = TunnelEnding | "refused" | "clientLeft";
const tcpOutcomes = ["relayed", "timedOut", "closedForSleep", "cut", "refused", "clientLeft"] as const;

/** Counts the connections to ports of sandboxes. */
export function createTcpMetrics(registry: Registry, sizes: { readonly listeners: () => number }) {
  const registers = [registry];
  const connections = new Counter({
    name: "rouse_activator_tcp_connections_total",
    help: "TCP connections to sandboxes that ended, by outcome: relayed (client or sandbox ended it), timedOut (--tunnel-idle-timeout or --tunnel-lifetime), closedForSleep (its sandbox was suspended), cut (its Pod was gone, or the activator exited), refused (rejected, or the sandbox did not wake in time) or clientLeft (before it reached the sandbox).",
    labelNames: ["outcome"] as const,
    registers,
  });
  const open = new Gauge({
    name: "rouse_activator_tcp_connections",
    help: "Current number of TCP connections to sandboxes, by state: waiting (not connected to the sandbox yet) or relayed.",
    labelNames: ["state"] as const,
    registers,
  });
  const refused = new Counter({
    name: "rouse_activator_tcp_refused_total",
    help: "TCP connections to sandboxes that were rejected, by the code of the error.",
    labelNames: ["reason"] as const,
    registers,
  });
  const failures = new Counter({
    name: "rouse_activator_tcp_listen_failures_total",
    help: "Failed attempts to listen on an activator port, by error code of the operating system.",
    labelNames: ["code"] as const,
    registers,
  });
  new Gauge({
    name: "rouse_activator_tcp_listeners",
    help: "Current number of activator ports with a listener.",
    registers,
    collect() {
      this.set(sizes.listeners());
    },
  });
  for (const outcome of tcpOutcomes) connections.inc({ outcome }, 0);
  for (const reason of [...peerRefusals, ...nameRefusals]) refused.inc({ reason }, 0);
  for (const state of ["waiting", "relayed"] as const) open.set({ state }, 0);

  return {
    waits: () => open.inc({ state: "waiting" }),
    waited: () => open.dec({ state: "waiting" }),
    relayBegan: () => open.inc({ state: "relayed" }),
    relayEnded: () => open.dec({ state: "relayed" }),
    ended: (outcome: TcpOutcome) => connections.inc({ outcome }),
    refused: (reason: ConnectionRefusal | ErrorCode) => refused.inc({ reason }),
    listenFailed: (code: string) => failures.inc({ code }),
  };
}

export type TcpMetrics = ReturnType<typeof createTcpMetrics>;
