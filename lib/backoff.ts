export interface Backoff {
  /** Delay after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** The delay never grows beyond this, in milliseconds. */
  readonly maxMs: number;
  /** Share of the delay that is random, 0 to 1: 0.2 spreads a delay over 80 to 100 per cent of itself. */
  readonly jitter: number;
}

/**
 * How long to wait after so many failures in a row (1 is the first). Doubles from `baseMs` up to `maxMs`, and is
 * spread downwards so that many clients that failed together do not return together.
 */
export function backoffDelayMs(failures: number, backoff: Backoff, random: () => number = Math.random): number {
  if (failures <= 0) return 0;
  // Above 2^52 a double no longer tells neighbours apart; the ceiling is far below that.
  const exponent = Math.min(failures - 1, 52);
  const fullMs = Math.min(backoff.baseMs * 2 ** exponent, backoff.maxMs);
  return fullMs * (1 - backoff.jitter * random());
}
