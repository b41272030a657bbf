/** Where each item is, by its key; of several with the same key, the first. */
function placesOf(items: readonly unknown[], keyOf: (item: unknown) => unknown): ReadonlyMap<unknown, number> {
  const places = new Map<unknown, number>();
  for (const [at, item] of items.entries()) if (!places.has(keyOf(item))) places.set(keyOf(item), at);
  return places;
}

function sortedBy(items: readonly unknown[], placeOf: (item: unknown) => number | undefined): readonly unknown[] {
  return items.toSorted((one, other) => (placeOf(one) ?? items.length) - (placeOf(other) ?? items.length));
}

/**
 * A merged list in the order of kube-apiserver: the items that `order` names stay in that order, the others in that of the list `before`.
 * Where both are known from before, the earlier one comes first; else the one that `order` names.
 */
export function ordered(
  merged: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  keyOf: (item: unknown) => unknown,
): readonly unknown[] {
  const [wanted, former] = [placesOf(order, keyOf), placesOf(before, keyOf)];
  const placeBefore = (item: unknown) => former.get(keyOf(item));
  const named = sortedBy(
    merged.filter((item) => wanted.has(keyOf(item))),
    (item) => wanted.get(keyOf(item)),
  );
  const others = sortedBy(
    merged.filter((item) => !wanted.has(keyOf(item))),
    placeBefore,
  ).values();
  const result: unknown[] = [];
  let other = others.next();
  for (const item of named) {
    const place = placeBefore(item) ?? -1;
    while (!other.done && (placeBefore(other.value) ?? place) < place) {
      result.push(other.value);
      other = others.next();
    }
    result.push(item);
  }
  for (; !other.done; other = others.next()) result.push(other.value);
  return result;
}
