/**
 * How long a request may be held, in milliseconds from its head: the minimum of the limits of sandbox, client and activator,
 * less a margin (of a short limit, half at most). The activator then answers while the client still listens.
 */
export function holdTimeoutMs(...allowedMs: readonly (number | undefined)[]): number {
  const budgetMs = Math.min(...allowedMs.filter((each) => each !== undefined));
  return budgetMs - Math.min(Math.max(1_000, budgetMs * 0.05), budgetMs / 2);
}
