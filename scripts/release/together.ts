/**
 * What all of them come to. They all end before this does, also when one fails: a step must not write into a folder that is
 * removed meanwhile.
 *
 * @throws the error of the first one, in their order, that failed.
 */
export async function together<T extends readonly unknown[]>(
  steps: {
    readonly [K in keyof T]: Promise<T[K]>;
  },
): Promise<T> {
  await Promise.allSettled(steps);
  return (await Promise.all(steps)) as unknown as T;
}
