import { describe, expect, it } from "vitest";
import { explore, type Model } from "./explore.ts";

/** Two clients that each read a number and write it back plus one. */
interface Counter {
  readonly value: number;
  readonly read: readonly (number | "done" | undefined)[];
}

const withClerk = ({ read }: Counter, clerk: number, what: number | "done") =>
  read.map((old, index) => (index === clerk ? what : old));

const clerks = (isSettled: Model<Counter>["isSettled"], isBroken: (next: Counter) => boolean): Model<Counter> => ({
  initial: { value: 0, read: [undefined, undefined] },
  encode: (state, codes) => {
    for (const character of JSON.stringify(state)) codes.put(character.charCodeAt(0));
  },
  isSettled,
  steps: (state) =>
    state.read.flatMap((seen, clerk) => {
      if (seen === "done") return [];
      const [what, next] =
        seen === undefined
          ? [`clerk ${clerk} reads`, { ...state, read: withClerk(state, clerk, state.value) }]
          : [`clerk ${clerk} writes`, { value: seen + 1, read: withClerk(state, clerk, "done") }];
      return [{ what, next, ...(isBroken(next) && { broken: "an update is lost" }) }];
    }),
});

const bothDone = ({ read }: Counter) => read.every((clerk) => clerk === "done");

describe("the explorer", () => {
  it("finds every state, and the longest path", () => {
    const report = explore(
      clerks(bothDone, () => false),
      100,
    );
    expect(report).toEqual({ states: 12, steps: 14, depth: 4, counterexample: undefined });
  });

  it("reports the shortest path to a violation", () => {
    const report = explore(
      clerks(bothDone, (next) => bothDone(next) && next.value < 2),
      100,
    );
    expect(report.counterexample).toEqual({
      why: "an update is lost",
      trace: ["clerk 0 reads", "clerk 1 reads", "clerk 0 writes", "clerk 1 writes"],
    });
  });

  it("finds a state from which no wait can end", () => {
    const report = explore(
      clerks(
        ({ value }) => value === 2,
        () => false,
      ),
      100,
    );
    expect(report.counterexample?.trace).toEqual(["clerk 0 reads", "clerk 1 reads"]);
  });

  it("fails if the model has more states than the limit", () => {
    expect(() =>
      explore(
        clerks(bothDone, () => false),
        5,
      ),
    ).toThrow("more than 5 states");
  });
});
