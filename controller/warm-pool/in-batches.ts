// Calls of one pool that are on their way at the same time.
const batchSize = 32;

/** Calls `call` for every item, some at a time, and returns the results in the items' order. */
export async function inBatches<T, R>(items: readonly T[], call: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += batchSize) {
    results.push(...(await Promise.all(items.slice(start, start + batchSize).map(call))));
  }
  return results;
}
