import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../lib/log/log.ts";
import { aborted } from "../../../lib/process/lifecycle.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { aPodOf, aSandbox, readyStatus } from "../../../test/support/builders/builders.ts";
import { activatorOf } from "./activators.ts";
import { ActivatorRounds } from "./ask-activators.ts";
import { DrainRefused } from "./drain-client.ts";
import { longestSilenceMs } from "./silence.ts";

const about = { sandbox: { namespace: "lab", name: "nova", uid: "u" }, podUid: "p" };
const signal = new AbortController().signal;

function aRound(status = readyStatus) {
  const clock = new FakeClock();
  const activators = [activatorOf(aPodOf(aSandbox(), { name: "activator" }, status), 8446)].filter(
    (one) => one !== undefined,
  );
  const state: { failure: Error | undefined; answer: unknown; hangs: boolean } = {
    ...{ failure: undefined, answer: { inFlight: 0 }, hangs: false },
  };
  const notes: string[] = [];
  const unreachable: number[] = [];
  const rounds = new ActivatorRounds({
    finder: { list: async () => activators, known: () => activators, onChange: () => new DisposableStack() },
    async call(_address, _path, _body, over) {
      if (state.failure) throw state.failure;
      if (state.hangs) await aborted(over);
      over.throwIfAborted();
      return state.answer;
    },
    clock,
    log: silentLogger,
    events: { record: ({ note }) => void notes.push(note), [Symbol.asyncDispose]: async () => {} },
    metrics: { unreachable: (count) => void unreachable.push(count) },
  });
  return { clock, rounds, state, notes, unreachable };
}

describe("an activator that does not answer", () => {
  it("has been silent since its last answer", async () => {
    const { clock, rounds, state } = aRound();
    await rounds.promises(about, signal);
    await clock.advance(10_000);
    state.failure = new Error("reset");
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: 10_000, lostForMs: 0 }]);
    state.failure = undefined;
    expect(await rounds.promises(about, signal)).toMatchObject([{ is: "answered", inFlight: 0 }]);
  });

  it("is counted, and reported once in an event about its Pod, until it answers again", async () => {
    const { rounds, state, notes, unreachable } = aRound();
    state.failure = new Error("reset");
    await rounds.promises(about, signal);
    await rounds.promises(about, signal);
    state.failure = undefined;
    await rounds.promises(about, signal);
    expect(notes).toEqual([
      "the activator does not respond to the controller: no sandbox is suspended for inactivity until the activator responds, its Pod is gone or has not been Ready for 5m, or --activator-silence-limit has passed",
    ]);
    expect(unreachable).toEqual([1, 0]);
  });

  it("has been silent since it was first asked when it never answered", async () => {
    const { clock, rounds, state } = aRound();
    state.failure = new Error("reset");
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: 0, lostForMs: 0 }]);
    await clock.advance(longestSilenceMs);
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: longestSilenceMs, lostForMs: 0 }]);
  });

  it("is waited for half a second once its Pod has been unready for five minutes", async () => {
    const { clock, rounds, state } = aRound({ ...readyStatus, conditions: [] });
    state.failure = new Error("reset");
    await rounds.promises(about, signal);
    await clock.advance(longestSilenceMs);
    state.failure = undefined;
    state.hangs = true;
    let replies: unknown;
    const asked = rounds.promises(about, signal).then((all) => (replies = all));
    await clock.advance(499);
    expect(replies).toBeUndefined();
    await clock.advance(1);
    await asked;
    expect(replies).toMatchObject([{ is: "silent", lostForMs: longestSilenceMs + 500 }]);
  });

  it("may still be there when its port refuses while its Pod is ready", async () => {
    const { rounds, state } = aRound();
    state.failure = new DrainRefused("refused");
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: 0, lostForMs: 0 }]);
  });

  it("is not there when its Pod is Pending and refuses", async () => {
    const { rounds } = aRound({ phase: "Pending" });
    expect(await rounds.promises(about, signal)).toEqual([{ is: "absent" }]);
  });

  it("counts as unanswered when its answer is malformed", async () => {
    const { rounds, state } = aRound();
    state.answer = { inFlight: "none" };
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: 0, lostForMs: 0 }]);
  });
});
