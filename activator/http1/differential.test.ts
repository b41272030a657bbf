import { describe, expect, it } from "vitest";
import { corpus } from "./proof/corpus.ts";
import { compareRandomStreams, Differential } from "./proof/differential.ts";
import { onlyOurs } from "./proof/only-ours.ts";

// For other seeds and millions of streams: node activator/http1/proof/soak.ts SEED STREAMS
const seed = 20_260_101;
const streams = 60_000;

describe("llhttp without leniency", () => {
  it.each(corpus)("sees the messages that we take, and their ends, where we do: $about", ({ side, cases }) => {
    const differential = new Differential();
    for (const { wire, answers } of cases) differential.compare(side, wire, answers);
    expect(differential.comparison.disagreements).toEqual([]);
    expect(differential.comparison.acceptedMessages).toBeGreaterThan(0);
  });

  it("takes, of all that we refuse, what is listed with a reason and nothing else", () => {
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
