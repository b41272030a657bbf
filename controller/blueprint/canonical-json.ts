/** JSON with the members of every object in one order, so that equal values are equal texts. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner) ? inOrder(inner) : inner,
  );

// Sorted by code units: an order by locale would differ between two replicas.
const inOrder = (object: object): object =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : Number(a > b))));
