/** At most `max` of the items in their order, chosen at random, and the same for the same seed. */
export function sample<T>(items: readonly T[], max: number, seed: number): readonly T[] {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const drawn = items.map((item, at) => ({ item, at, lot: random() })).sort((a, b) => a.lot - b.lot);
  return drawn
    .slice(0, max)
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
