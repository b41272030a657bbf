export interface Batches<R> {
  /** What the calls that worked returned. */
  readonly done: readonly R[];
  /** Items that no call worked for: theirs failed, or was never made. */
  readonly undone: number;
  /** The first failure; it ended the run. */
  readonly error?: unknown;
}

/**
 * Calls `call` for each item in batches of 1, 2, 4, 8 and so on, each in parallel. The first batch with a failure is
 * the last, so that what fails for one reason fails once and not a thousand times; an aborted signal starts no batch.
 */
export async function slowStart<T, R>(
  items: readonly T[],
  call: (item: T) => Promise<R>,
  signal: AbortSignal,
): Promise<Batches<R>> {
  const done: R[] = [];
  for (let start = 0, size = 1; start < items.length && !signal.aborted; start += size, size *= 2) {
    const settled = await Promise.allSettled(items.slice(start, start + size).map(call));
    for (const result of settled) if (result.status === "fulfilled") done.push(result.value);
    const failed = settled.find((result) => result.status === "rejected");
    if (failed) return { done, undone: items.length - done.length, error: failed.reason };
  }
  return { done, undone: items.length - done.length };
}
