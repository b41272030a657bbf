import { describe, expect, it } from "vitest";
import { corpus } from "./corpus.ts";
import { compareRandomStreams, Differential } from "./differential.ts";
import { onlyOurs } from "./only-ours.ts";

// For other seeds and millions of streams: node test/http1/soak.ts SEED STREAMS
const seed = 20_260_101;
const streams = 60_000;

describe("llhttp without leniency", () => {
  it.each(corpus)("accepts the messages that we accept, with the same ends: $about", ({ side, cases }) => {
    const differential = new Differential();
    for (const { wire, answers } of cases) differential.compare(side, wire, answers);
    expect(differential.comparison.disagreements).toEqual([]);
    expect(differential.comparison.acceptedMessages).toBeGreaterThan(0);
  });

  it("accepts of the messages that we reject only those that are listed with a reason", () => {
    const differential = new Differential();
    for (const { side, cases } of corpus)
      for (const { wire, answers } of cases) differential.compare(side, wire, answers);
    expect([...differential.comparison.onlyWeRefuse.keys()].sort()).toEqual(Object.keys(onlyOurs).sort());
  });

  it(`agrees about ${streams} generated and mutated streams of seed ${seed}`, () => {
    const { disagreements, acceptedMessages, onlyWeRefuse } = compareRandomStreams(seed, streams);
    expect(disagreements, `seed ${seed}`).toEqual([]);
    expect(acceptedMessages).toBeGreaterThan(streams / 5);
    for (const refusal of onlyWeRefuse.keys()) expect(onlyOurs, `seed ${seed}`).toHaveProperty(refusal);
  });
});
