import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { type Repetition, repeatUntilDone } from "./repeat-until-done.ts";

const backoff = { baseMs: 1_000, maxMs: 8_000, jitter: 0 };

/** Rounds with these results; an error is thrown. Returns when each was, in milliseconds since the start. */
function repeat(results: readonly (number | undefined | Error)[], options: Partial<Repetition> = {}) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const startedMs = clock.ticksMs();
  const rounds: number[] = [];
  const failures: number[] = [];
  let isOver = false;
  const over = repeatUntilDone({
    ...{ clock, signal: stop.signal, backoff },
    async round() {
      const result = results[rounds.length];
      rounds.push(clock.ticksMs() - startedMs);
      if (result instanceof Error) throw result;
      return result;
    },
    onFailure: (_error, count) => void failures.push(count),
    ...options,
  }).then(() => {
    isOver = true;
  });
  return { clock, stop, rounds, failures, over, isOver: () => isOver };
}

const failure = new Error("refused");

describe("work that is repeated until it is done", () => {
  it("comes again when it says, and ends with the round that is the last", async () => {
    const { clock, rounds, over } = repeat([500, 0, 20_000, undefined, 1], { firstInMs: 100 });
    await clock.advance(60_000);
    await over;
    expect(rounds).toEqual([100, 600, 600, 20_600]);
    expect(clock.pending).toBe(0);
  });

  it("is repeated after pauses that double up to their maximum, until a round succeeds", async () => {
    const { clock, rounds, failures, over } = repeat([...Array(5).fill(failure), 10, failure, undefined]);
    await clock.advance(60_000);
    await over;
    expect(rounds).toEqual([0, 1_000, 3_000, 7_000, 15_000, 23_000, 23_010, 24_010]);
    expect(failures).toEqual([1, 2, 3, 4, 5, 1]);
  });

  it("is repeated after the pause that the listener of its failures returns", async () => {
    const { clock, rounds, over } = repeat([failure, undefined], { onFailure: () => 600_000 });
    await clock.advance(600_000);
    await over;
    expect(rounds).toEqual([0, 600_000]);
  });

  it("begins anew with its first pause when its wait says so", async () => {
    const waits: number[] = [];
    const answers = ["over", "over", "over", "anew", "over", "over"] as const;
    const wait = async (ms: number) => answers[waits.push(ms) - 1] ?? "over";
    await repeat([failure, failure, failure, failure, undefined], { wait }).over;
    expect(waits).toEqual([0, 1_000, 2_000, 4_000, 1_000, 1_000]);
  });

  it("ends during a pause when it is aborted, without another round", async () => {
    const { clock, stop, rounds, over } = repeat([failure, undefined]);
    await clock.advance(500);
    stop.abort();
    await over;
    expect(rounds).toEqual([0]);
    expect(clock.pending).toBe(0);
  });

  it("ends without a failure when a round is aborted", async () => {
    const stop = new AbortController();
    const round = async () => {
      stop.abort();
      throw failure;
    };
    const { failures, over } = repeat([], { signal: stop.signal, round });
    await over;
    expect(failures).toEqual([]);
  });
});
