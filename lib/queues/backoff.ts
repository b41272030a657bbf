export interface Backoff {
  /** Delay after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** The maximum delay, in milliseconds. */
  readonly maxMs: number;
  /** The random share of the delay, 0 to 1: 0.2 spreads a delay over 80 to 100 per cent of itself. */
  readonly jitter: number;
}

/**
 * The delay after this number of consecutive failures (1 is the first). It doubles from `baseMs` up to `maxMs`, and is
 * spread downwards so that clients that failed together do not return together.
 */
export function backoffDelayMs(failures: number, backoff: Backoff, random: () => number = Math.random): number {
  if (failures <= 0) return 0;
  // Above 2^52 a double cannot represent all integers; the maximum delay is far below that.
  const exponent = Math.min(failures - 1, 52);
  const fullMs = Math.min(backoff.baseMs * 2 ** exponent, backoff.maxMs);
  return fullMs * (1 - backoff.jitter * random());
}
