/** Pseudo-random choices, which are the same in every run with the same seed. */
export interface SeededRandom {
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number;
  oneOf<T>(choices: readonly T[]): T;
  /** The object half of the time, otherwise an empty one: for fields that may be absent. */
  maybe<T extends object>(fields: () => T): Partial<T>;
}

/** A linear congruential generator with the constants of Numerical Recipes; its upper bits are good enough for tests. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return {
    below,
    oneOf: <T>(choices: readonly T[]): T => choices[below(choices.length)] as T,
    maybe: (fields) => (below(2) === 0 ? fields() : {}),
  };
}
