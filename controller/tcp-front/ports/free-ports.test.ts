import { describe, expect, it } from "vitest";
import { tcpFrontPorts } from "../../../api/between-programs/tcp-front.ts";
import { seededRandom } from "../../../test/support/seeded-random.ts";
import { FreePorts } from "./free-ports.ts";

const { first, last } = tcpFrontPorts;
const all = Array.from({ length: last - first + 1 }, (_, at) => first + at);

describe("the free ports", () => {
  it("are all of the range at first, and come round it", () => {
    const free = new FreePorts();
    expect(free.size).toBe(all.length);
    expect(free.next(3, last - 1)).toEqual([last - 1, last, first]);
    expect(free.next(all.length + 1, first)).toEqual(all);
  });

  it("are none outside the range, and count once", () => {
    const free = new FreePorts();
    for (const port of [first - 1, last + 1, first]) free.set(port, true);
    expect(free.size).toBe(all.length);
    for (const port of all) free.set(port, false);
    expect(free.size).toBe(0);
    expect(free.next(1, first)).toEqual([]);
  });

  it("are found as by a look at each one", () => {
    const random = seededRandom(7);
    const free = new FreePorts();
    const model = new Set(all);
    for (const share of [0.5, 0.01, 0.000_2, 0.9]) {
      for (const port of all) {
        const isFree = random.below(10_000) < 10_000 * share;
        free.set(port, isFree);
        if (isFree) model.add(port);
        else model.delete(port);
      }
      expect(free.size).toBe(model.size);
      for (const from of [first, first + 31, first + 32, first + 11_111, last]) {
        const round = [...all.slice(from - first), ...all.slice(0, from - first)];
        expect(free.next(40, from)).toEqual(round.filter((port) => model.has(port)).slice(0, 40));
      }
    }
  });
});
