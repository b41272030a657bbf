import { Counter, Gauge, type Registry } from "prom-client";
import type { ActivatorError } from "../failures/errors-for-clients.ts";
import type { FrontEvents } from "../http1/front/connection-host.ts";
import { handshakeFailures } from "../http1/front/handshakes.ts";
import type { Http2Events } from "../http2/front/http2-front.ts";
import { offences } from "../http2/offences.ts";
import type { WaitingEvents } from "../http2/waiting-budget.ts";
import type { RequestMetrics } from "./request-metrics.ts";

export interface ConnectionMetrics extends FrontEvents, Http2Events, WaitingEvents {}

/** Counts client connections, and those that sent no valid request. */
export function createConnectionMetrics(registry: Registry, requests: RequestMetrics): ConnectionMetrics {
  const registers = [registry];
  let open = 0;
  new Gauge({
    name: "rouse_activator_connections",
    help: "Current number of HTTP and HTTPS connections of clients.",
    registers,
    collect() {
      this.set(open);
    },
  });
  const dropped = new Counter({
    name: "rouse_activator_connections_dropped_total",
    help: "HTTP and HTTPS connections of clients that were closed on accept: at --max-connections, or because file descriptors were about to run out.",
    registers,
  });
  const handshakes = new Counter({
    name: "rouse_activator_tls_handshakes_failed_total",
    help: "TLS handshakes that failed, by reason: timedOut (--headers-timeout) or failed.",
    labelNames: ["reason"] as const,
    registers,
  });
  for (const reason of handshakeFailures) handshakes.inc({ reason }, 0);
  const overheadCuts = new Counter({
    name: "rouse_activator_tls_connections_cut_total",
    help: "HTTPS connections that were closed because they brought too many KeyUpdate messages of TLS 1.3, or too many bytes without data.",
    registers,
  });
  return {
    connected() {
      open += 1;
    },
    disconnected() {
      open -= 1;
    },
    dropped: () => dropped.inc(),
    refused: (error: ActivatorError) => requests.refused(error.code),
    handshakeFailed: (reason) => handshakes.inc({ reason }),
    overheadCut: () => overheadCuts.inc(),
    ...streamEvents(registers),
  };
}

/** Counts what happens to streams of HTTP/2, and to their connections. */
function streamEvents(registers: Registry[]): Pick<ConnectionMetrics, "streamRefused" | "stalledCut" | "broke"> {
  const streamsRefused = new Counter({
    name: "rouse_activator_http2_streams_refused_total",
    help: "HTTP/2 streams that were refused: at --max-connections requests in progress, or because file descriptors were about to run out.",
    registers,
  });
  const stalledCuts = new Counter({
    name: "rouse_activator_http2_stalled_streams_cut_total",
    help: "HTTP/2 streams and gRPC-Web calls that were cut because they had stalled, and too much data waited on all streams together.",
    registers,
  });
  const offenders = new Counter({
    name: "rouse_activator_http2_connections_cut_total",
    help: "HTTP/2 connections that were closed because of what the client sent, by reason: flood (too many PING, SETTINGS, reset or other cheap frames) or protocol (frames that HTTP/2 forbids).",
    labelNames: ["reason"] as const,
    registers,
  });
  for (const reason of offences) offenders.inc({ reason }, 0);
  return {
    streamRefused: () => streamsRefused.inc(),
    stalledCut: () => stalledCuts.inc(),
    broke: (reason) => offenders.inc({ reason }),
  };
}
