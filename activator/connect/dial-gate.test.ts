import { expect, it } from "vitest";
import { DialGate } from "./dial-gate.ts";

const never = new AbortController().signal;

/** Starts a dial that lasts until `end` is called. */
function given(limit: number) {
  const gate = new DialGate(limit);
  const running: string[] = [];
  const start = (name: string, { key = "p1", signal = never } = {}) => {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const ended = gate.run(key, signal, () => {
      running.push(name);
      return promise;
    });
    return { end, ended };
  };
  return { start, running };
}

it("dials to one place beyond the limit wait in order of arrival, and those to other places do not", async () => {
  const { start, running } = given(2);
  const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => start(name));
  const other = start("other", { key: "p2" });
  await Promise.resolve();
  expect(running).toEqual(["a", "b", "other"]);
  a?.end();
  await a?.ended;
  b?.end();
  await b?.ended;
  expect(running).toEqual(["a", "b", "other", "c", "d"]);
  for (const dial of [c, d, other]) dial?.end();
  await Promise.all([c?.ended, d?.ended, other.ended]);
});

it("a dial that is cancelled in line takes no place", async () => {
  const { start, running } = given(1);
  const first = start("first");
  const leaves = new AbortController();
  const left = start("left", { signal: leaves.signal });
  const last = start("last");
  leaves.abort(new Error("left"));
  await expect(left.ended).rejects.toThrow("left");
  first.end();
  await first.ended;
  expect(running).toEqual(["first", "last"]);
  last.end();
  await last.ended;
});

it("a dial that ends frees its own place alone, also when none waits", async () => {
  const { start, running } = given(2);
  const [a, b] = ["a", "b"].map((name) => start(name));
  a?.end();
  await a?.ended;
  const [c, d] = ["c", "d"].map((name) => start(name));
  await Promise.resolve();
  expect(running).toEqual(["a", "b", "c"]);
  for (const dial of [b, c, d]) dial?.end();
  await Promise.all([b?.ended, c?.ended, d?.ended]);
});
