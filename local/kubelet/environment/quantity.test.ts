import { expect, it } from "vitest";
import { parseQuantity } from "./quantity.ts";

it.each([
  ["500m", 0.5],
  ["2", 2],
  ["1.5Gi", 1.5 * 2 ** 30],
  ["128Mi", 128 * 2 ** 20],
  ["1k", 1000],
  ["2e3", 2000],
  [3, 3],
])("reads %s as %d", (quantity, value) => {
  expect(parseQuantity(quantity)).toBe(value);
});

it.each(["", "Mi", "1 Gi", "1GiB", "0x10"])("does not take %j for a quantity", (text) => {
  expect(parseQuantity(text)).toBeUndefined();
});
