import { describe, expect, it } from "vitest";
import { seededRandom } from "../support/seeded-random.ts";
import { Codes } from "./codes.ts";

function numberOf(codes: Codes, units: readonly number[]): number {
  for (const unit of units) codes.put(unit);
  return codes.end();
}

describe("codes", () => {
  it("are numbered in order, and equal ones have one number", () => {
    const codes = new Codes();
    const numbers = [[1, 2], [1], [], [2, 1], [1, 2, 0], [1, 2], [], [1]].map((units) => numberOf(codes, units));
    expect(numbers).toEqual([0, 1, 2, 3, 4, 0, 2, 1]);
    expect(codes.size).toBe(5);
  });

  it("stay different when there are many, as a map of texts shows", () => {
    const random = seededRandom(7);
    const codes = new Codes();
    const known = new Map<string, number>();
    for (let round = 0; round < 20_000; round += 1) {
      const units = Array.from({ length: random.below(6) }, () => random.below(round % 2 ? 4 : 0x1_0000));
      const number = known.get(units.join()) ?? known.size;
      known.set(units.join(), number);
      if (numberOf(codes, units) !== number) throw new Error(`the code ${units} has a number of another one`);
    }
    expect(codes.size).toBe(known.size);
  });

  it("do not depend on the order of parts whose order makes no difference", () => {
    const codes = new Codes();
    const numberOfParts = (parts: readonly (readonly number[])[]) => {
      codes.put(9);
      codes.putInAnyOrder(parts, (part) => {
        for (const unit of part) codes.put(unit);
      });
      return numberOf(codes, [9]);
    };
    const parts = [[3, 1], [1, 2, 3], [3]];
    const orders = [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ].map((order) => order.map((at) => parts[at] ?? []));
    expect(orders.map(numberOfParts)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(numberOfParts([[3], [1, 2, 3], [3, 2]])).toBe(1);
  });

  it.each([-1, 0x1_0000, 0.5, Number.POSITIVE_INFINITY, Number.NaN])("cannot have %d as a unit", (unit) => {
    expect(() => new Codes().put(unit)).toThrow("is no unit of a code");
  });
});
