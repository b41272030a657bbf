import type { Clock } from "../lib/time/clock.ts";
import type { ActivatorConfig } from "./config/config.ts";
import type { HoldDeadlines } from "./hold/hold-deadlines.ts";
import type { Fronts } from "./start-fronts.ts";

/** The time after held requests were rejected, to write the responses. Milliseconds. */
const lastAnswersMs = 1_000;

/** Time after the settling time and the shutdown timeout, for the last answers and the close of connections. Milliseconds. */
const endMarginMs = 10_000;

/** The maximum time from SIGTERM to exit, in milliseconds. The grace period of the Pod must be longer. */
export function endLimitOf({
  drainSettleMs,
  shutdownTimeoutMs,
}: Pick<ActivatorConfig, "drainSettleMs" | "shutdownTimeoutMs">): number {
  return drainSettleMs + shutdownTimeoutMs + endMarginMs;
}

/** Finishes what is in progress, then rejects held requests. What is left is for the caller to cut. */
export async function drain(
  { http, tcp, byName }: Fronts,
  holdDeadlines: HoldDeadlines,
  config: ActivatorConfig,
  clock: Clock,
): Promise<void> {
  const { drainSettleMs, shutdownTimeoutMs } = config;
  http.beginDrain();
  const over = new AbortController();
  const unlisted = tcp?.unlisted(over.signal).then(() => clock.sleep(drainSettleMs));
  await clock.sleep(drainSettleMs);
  http.stopAccepting();
  byName?.stopAccepting();
  const closed = unlisted?.then(() => tcp?.stopAccepting());
  const idle = () => Promise.all([http.idle(), byName?.idle(), closed?.then(() => tcp?.idle())]);
  await Promise.race([idle(), clock.sleep(shutdownTimeoutMs)]);
  over.abort(new Error("the shutdown timeout is over"));
  tcp?.stopAccepting();
  holdDeadlines.endAll();
  http.endWebSockets();
  await Promise.race([Promise.all([http.idle(), byName?.idle(), tcp?.idle()]), clock.sleep(lastAnswersMs)]);
}
