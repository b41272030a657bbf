/**
 * An action that concurrent tests share and that runs once, as soon as the given number of tests waits for
 * it. All of them get its result.
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
