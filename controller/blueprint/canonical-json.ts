import { byCodeUnits } from "../../lib/by-code-units.ts";

/** JSON with the members of every object in one order, so that equal values are equal texts. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner) ? inOrder(inner) : inner,
  );

const inOrder = (object: object): object =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => byCodeUnits(a, b)));
