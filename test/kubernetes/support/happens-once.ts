/**
 * Something that several tests need which run beside each other, and that happens once: as soon as so many of them have
 * come to where they wait for it. What it resolves with is handed to all of them.
 */
export function happensOnce<T>(waiters: number, happen: () => Promise<T>): () => Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let come = 0;
  return () => {
    come += 1;
    if (come === waiters) happen().then(resolve, reject);
    return promise;
  };
}
