import { describe, expect, it } from "vitest";
import { corpus } from "./corpus.ts";
import { readWire, summary } from "./wire-reader.ts";

describe.each(corpus)("$about", ({ side, cases }) => {
  it.each(cases)("$name", ({ wire, answers, saw }) => {
    expect(summary(readWire(side, Buffer.from(wire, "latin1"), answers))).toEqual(saw);
  });
});
