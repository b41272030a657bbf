import { describe, expect, it } from "vitest";
import { corpus } from "./corpus.ts";
import { readWire } from "./wire-reader.ts";

// Long cases are about limits. Splits at every position would take minutes, so the steps share no factor
// with any size in the code.
const everywhereMax = 512;
const longStep = 1_013;

function placesToCut(length: number): readonly number[] {
  const step = length <= everywhereMax ? 1 : longStep;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, i) => i * step);
}

describe.each(corpus)("$about is read the same", ({ side, cases }) => {
  it.each(cases)("when it is split: $name", ({ wire, answers }) => {
    const bytes = Buffer.from(wire, "latin1");
    const whole = readWire(side, bytes, answers);
    const places = placesToCut(bytes.length);
    for (const place of places) expect(readWire(side, bytes, answers, [place]), `cut at ${place}`).toEqual(whole);
    expect(readWire(side, bytes, answers, places), "cut everywhere").toEqual(whole);
  });
});
