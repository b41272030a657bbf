import { describe, expect, it } from "vitest";
import { abortable } from "../../../lib/process/lifecycle.ts";
import type { Round } from "./decide-suspension.ts";
import { Questions } from "./questions.ts";

const aQuestion = (name: string, { namespace = "lab", text = "promise" } = {}) => ({
  key: `${namespace}/${name}`,
  namespace,
  sandboxUid: `uid-of-${namespace}-${name}`,
  text,
});
const round: Round = { asked: "promise", podUid: "pod-1", replies: [] };
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Questions whose answers come when the test says so. */
function openQuestions() {
  const questions = new Questions();
  const answered: string[] = [];
  questions.onAnswered((key) => void answered.push(key));
  const open: { readonly signal: AbortSignal; readonly answer: (round: Round) => void }[] = [];
  const ask = (signal: AbortSignal) => {
    const { promise, resolve } = Promise.withResolvers<Round>();
    open.push({ signal, answer: resolve });
    return abortable(promise, signal);
  };
  return { questions, answered, open, ask };
}

describe("a question to the activators", () => {
  it("is asked once, and its answer is given out once", async () => {
    const { questions, answered, open, ask } = openQuestions();
    for (let pass = 0; pass < 3; pass += 1) expect(questions.answersTo(aQuestion("a"), ask)).toBeUndefined();
    expect(open).toHaveLength(1);
    open[0]?.answer(round);
    await settle();
    expect(answered).toEqual(["lab/a"]);
    expect(questions.answersTo(aQuestion("a"), ask)).toBe(round);
    expect(questions.size).toBe(0);
    expect(questions.answersTo(aQuestion("a"), ask)).toBeUndefined();
    expect(open).toHaveLength(2);
  });

  it("that fails causes a pass too, which gets the error", async () => {
    const { questions, answered } = openQuestions();
    const fail = () => Promise.reject(new Error("no list of activators"));
    expect(questions.answersTo(aQuestion("a"), fail)).toBeUndefined();
    await settle();
    expect(answered).toEqual(["lab/a"]);
    expect(() => questions.answersTo(aQuestion("a"), fail)).toThrow("no list of activators");
    expect(questions.size).toBe(0);
  });

  it("takes the place of the one before about the same sandbox, whose answer is not used", async () => {
    const { questions, answered, open, ask } = openQuestions();
    questions.answersTo(aQuestion("a"), ask);
    questions.answersTo(aQuestion("a", { text: "observed" }), ask);
    // And back again, while the first one is still on its way.
    questions.answersTo(aQuestion("a"), ask);
    expect(open.map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
    for (const { answer } of open) answer(round);
    await settle();
    expect(answered).toEqual(["lab/a"]);
  });

  it("is forgotten with its sandbox, and all of them with the program", async () => {
    const { questions, answered, open, ask } = openQuestions();
    for (const name of ["a", "b", "c"]) questions.answersTo(aQuestion(name), ask);
    questions.drop(aQuestion("a").sandboxUid);
    expect(open.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
    questions[Symbol.dispose]();
    await settle();
    expect([questions.size, answered]).toEqual([0, []]);
    expect(open.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
  });

  it("waits in line beyond 100 at a time and 50 of a namespace, and none that was dropped is asked", async () => {
    const { questions, open, ask } = openQuestions();
    for (let at = 0; at < 60; at += 1) questions.answersTo(aQuestion(`sandbox-${at}`), ask);
    expect(open).toHaveLength(50);
    for (let at = 0; at < 60; at += 1) questions.answersTo(aQuestion(`sandbox-${at}`, { namespace: "other" }), ask);
    expect(open).toHaveLength(100);
    for (let at = 50; at < 60; at += 1) questions.drop(aQuestion(`sandbox-${at}`).sandboxUid);
    for (const { answer } of [...open]) answer(round);
    await settle();
    expect(open).toHaveLength(110);
  });
});
