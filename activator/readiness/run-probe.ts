import { askStatus } from "../../lib/net/ask-status.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { DialError, dial } from "../connect/dial.ts";
import type { OwnProbe } from "./readiness.ts";

export interface ProbeLimits {
  readonly clock: Clock;
  /** The limit of a connection attempt, in milliseconds. */
  readonly dialLimitMs: number;
  readonly signal: AbortSignal;
}

/**
 * The limit of one probe, in milliseconds. Each probe holds a socket of this replica, and `timeoutSeconds` has no upper bound.
 * Slower probes are left to the kubelet, and its Ready condition counts.
 */
const probeLimitMs = 10_000;

/**
 * Whether a readiness probe passes now, by the kubelet's rules: a connection, or a status from 200 to 399. The connection is closed when
 * this settles.
 *
 * @throws the reason of the signal, once that is aborted.
 */
export async function passes(ip: string, probe: OwnProbe, limits: ProbeLimits): Promise<boolean> {
  const limitMs = Math.min(probe.timeoutMs, probeLimitMs);
  const { port, httpGet } = probe;
  if (!httpGet) return accepts({ ip, port }, limitMs, limits);
  const { path = "/", httpHeaders = [] } = httpGet;
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  const status = await askStatus({ host: ip, port, path, scheme: "HTTP", headers }, { ...limits, limitMs });
  return status !== undefined && status >= 200 && status < 400;
}

async function accepts(
  address: { readonly ip: string; readonly port: number },
  limitMs: number,
  { clock, dialLimitMs, signal }: ProbeLimits,
): Promise<boolean> {
  try {
    (await dial(address, Math.min(limitMs, dialLimitMs), clock, signal)).destroy();
    return true;
  } catch (error) {
    if (error instanceof DialError) return false;
    throw error;
  }
}
