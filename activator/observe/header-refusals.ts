import { Counter, type Registry } from "prom-client";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import { type HeaderRefusal, headerRefusals } from "../socket/proxy-protocol/awaited-header.ts";

/** Counts and logs connections without a valid PROXY header. */
export function createHeaderRefusals(registry: Registry, log: Logger, clock: Clock) {
  const refused = new Counter({
    name: "rouse_activator_proxy_headers_refused_total",
    help: "Connections from --proxy-protocol-networks that ended without a valid PROXY header, by reason: Missing (other bytes), Malformed, TooLong, WrongChecksum, Truncated (the client ended the connection) or TimedOut (--headers-timeout). Only with that flag.",
    labelNames: ["reason"] as const,
    registers: [registry],
  });
  for (const reason of headerRefusals) refused.inc({ reason }, 0);
  const mayLog = new OncePerMinute(clock);
  return (listener: string, reason: HeaderRefusal, peer: string): void => {
    refused.inc({ reason });
    if (mayLog.asks(`${listener} ${reason}`))
      log.warn({ listener, reason, peer }, "connection rejected: no valid PROXY header");
  };
}
