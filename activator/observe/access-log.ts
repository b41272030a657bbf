import type { WakeTimeline } from "../../api/wake-timeline.ts";
import type { Logger } from "../../lib/log.ts";
import { type Ended, headerValue, pathOf, type RequestHead } from "../request.ts";

/** Characters of a value that a client chose; log lines stay short whatever it sends. */
const longestValue = 256;
const unlogged = new Set(["/healthz", "/readyz", "/metrics"]);

export interface AccessEntry {
  readonly head: RequestHead;
  readonly ended: Ended;
  readonly durationMs: number;
  readonly reason: string | undefined;
  readonly wake: WakeTimeline | undefined;
}

/** One line a request, with the keys of spec router 17.1 and, beside them, why it was refused and how it woke. */
export function logAccess(log: Logger, { head, ended, durationMs, reason, wake }: AccessEntry): void {
  const path = pathOf(head.target);
  if (unlogged.has(path) && ended.status === 200 && reason === undefined) return;
  const header = (name: string) => (headerValue(head.headers, name) ?? "").slice(0, longestValue);
  log.info(
    {
      method: head.method,
      path: path.slice(0, longestValue),
      status: ended.status,
      duration_ms: Math.round(durationMs * 1000) / 1000,
      client_ip: head.peer,
      host: head.host.slice(0, longestValue),
      sandbox_id: header("x-sandbox-id"),
      sandbox_namespace: header("x-sandbox-namespace"),
      bytes_out: ended.bytesOut,
      user_agent: header("user-agent"),
      ...(reason !== undefined && { reason }),
      ...(wake && { wake }),
    },
    "request",
  );
}
