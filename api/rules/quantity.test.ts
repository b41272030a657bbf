import { expect, it } from "vitest";
import { cpuMs } from "../../test/support/cpu-time.ts";
import { exactQuantity, sameQuantity } from "./quantity.ts";

it.each([
  ["500m", "0.5"],
  ["2", 2],
  ["1.5Gi", 1.5 * 2 ** 30],
  ["128Mi", 128 * 2 ** 20],
  ["1k", 1000],
  ["2e3", "2000"],
  ["2.E3", "2k"],
  [".5", "500m"],
  [3, "3"],
])("takes %s for as much as %s", (one, other) => {
  expect(exactQuantity(one)).toBe(exactQuantity(other));
  expect(sameQuantity(one, other)).toBe(true);
});

it.each(["", ".", "Mi", "1 Gi", "1GiB", "0x10", "1e1.5", "1".repeat(129)])(
  "does not take %j for a quantity",
  (text) => {
    expect(exactQuantity(text)).toBeUndefined();
  },
);

it.each(["1", "1.", ".", "1e"])("reads 1,000,000 characters of %j in little time", (unit) => {
  const text = unit.repeat(1_000_000 / unit.length);
  expect(cpuMs(() => exactQuantity(`${text}e1.5`))).toBeLessThan(100);
});
