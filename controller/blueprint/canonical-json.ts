import { byCodeUnits } from "../../lib/data/by-code-units.ts";

/** JSON with sorted object keys, so that equal values give equal texts. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner) && !JSON.isRawJSON(inner)
      ? inOrder(inner)
      : inner,
  );

const inOrder = (object: object): object =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => byCodeUnits(a, b)));
