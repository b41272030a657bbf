import type { ActivatorConfig } from "./config/config.ts";

/** Time after the settling time and the shutdown timeout, for the last answers and the close of connections. Milliseconds. */
const endMarginMs = 10_000;

/** The maximum time from SIGTERM to exit, in milliseconds. The grace period of the Pod must be longer. */
export function endLimitOf({
  drainSettleMs,
  shutdownTimeoutMs,
}: Pick<ActivatorConfig, "drainSettleMs" | "shutdownTimeoutMs">): number {
  return drainSettleMs + shutdownTimeoutMs + endMarginMs;
}
