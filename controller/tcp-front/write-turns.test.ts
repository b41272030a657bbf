import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { WriteTurns } from "./write-turns.ts";

/** Ten a second, of which the first ten were taken. */
function busyTurns() {
  const clock = new FakeClock();
  const called: string[] = [];
  const turns = new WriteTurns(10, clock, (key) => called.push(key));
  for (let at = 0; at < 10; at += 1) expect(turns.take(`early-${at}`, "first")).toBe(true);
  return { clock, called, turns };
}

it("gives leave to as many as come in a second, and then to one after the other", async () => {
  const { clock, called, turns } = busyTurns();
  for (const key of ["a", "b", "c"]) expect(turns.take(key, "refresh")).toBe(false);
  await clock.advance(150);
  expect(called).toEqual(["a"]);
  await clock.advance(100);
  expect(called).toEqual(["a", "b"]);
  expect(turns.take("a", "refresh")).toBe(true);
  expect(turns.take("a", "refresh")).toBe(false);
  expect(turns.waiting).toBe(2);
});

it("calls who leads nowhere before who leads to an activator that is gone, and both before the rest", async () => {
  const { clock, called, turns } = busyTurns();
  turns.take("refresh", "refresh");
  turns.take("removal", "removal");
  turns.take("first", "first");
  await clock.advance(1_000);
  expect(called).toEqual(["first", "removal", "refresh"]);
});

it("keeps the place of a key that is added again, and moves it when it has become urgent", async () => {
  const { clock, called, turns } = busyTurns();
  turns.take("a", "refresh");
  turns.take("b", "refresh");
  turns.take("c", "refresh");
  turns.take("a", "refresh");
  turns.take("c", "first");
  await clock.advance(1_000);
  expect(called).toEqual(["c", "a", "b"]);
});

it("gives the turn of one that has nothing to write any more to the next", async () => {
  const { clock, called, turns } = busyTurns();
  for (const key of ["a", "b", "c"]) turns.take(key, "refresh");
  turns.drop("b");
  await clock.advance(110);
  turns.drop("a");
  await clock.advance(20);
  expect(called).toEqual(["a", "c"]);
});

it("runs no timer while no key waits", async () => {
  const { clock, turns } = busyTurns();
  expect(clock.pending).toBe(0);
  turns.take("a", "refresh");
  await clock.advance(1_000);
  expect(clock.pending).toBe(0);
});

it("gives every namespace its turn, whatever another one asks for", async () => {
  const { clock, called, turns } = busyTurns();
  for (let at = 0; at < 100; at += 1) turns.take(`greedy/${at}`, "first");
  turns.take("other/a", "first");
  await clock.advance(210);
  expect(called).toEqual(["greedy/0", "other/a"]);
});

it("lets nothing wait for ever while urgent writes go on", async () => {
  const clock = new FakeClock();
  const granted = new Set<string>();
  const turns = new WriteTurns(10, clock, (key) => granted.add(key));
  for (let at = 0; at < 50; at += 1) turns.take(`greedy/${at}`, "first");
  turns.take("other/gone", "removal");
  turns.take("other/new", "refresh");
  for (let tenths = 0; tenths < 20; tenths += 1) {
    await clock.advance(100);
    for (const key of granted) {
      if (!key.startsWith("greedy/")) continue;
      granted.delete(key);
      turns.take(key, "first");
      turns.take(key, "first");
    }
  }
  expect([...granted].sort()).toEqual(["other/gone", "other/new"]);
});

it("leads slices away from a killed activator as fast while one tenant makes urgent changes without end", async () => {
  const secondsWith = async (greedy: number) => {
    const clock = new FakeClock();
    const wrong = new Set<string>();
    const ask = (key: string) => {
      if (key.startsWith("greedy/")) while (turns.take(key, "first"));
      else if (wrong.has(key) && turns.take(key, "removal")) wrong.delete(key);
    };
    const turns = new WriteTurns(200, clock, ask);
    for (let at = 0; at < greedy; at += 1) ask(`greedy/${at}`);
    for (let at = 0; at < 2_000; at += 1) wrong.add(`lab-${at % 20}/${at}`);
    for (const key of [...wrong]) ask(key);
    let seconds = 0;
    for (; wrong.size > 0; seconds += 1) await clock.advance(1_000);
    turns[Symbol.dispose]();
    return seconds;
  };
  const alone = await secondsWith(0);
  expect(await secondsWith(300)).toBeLessThanOrEqual(alone + 3);
});

it("calls who leads nowhere before the turns of a thousand namespaces, and each other key in its turn", async () => {
  const clock = new FakeClock();
  const called: string[] = [];
  const turns = new WriteTurns(200, clock, (key) => called.push(key));
  for (let at = 0; at < 200; at += 1) turns.take(`early/${at}`, "first");
  for (let at = 0; at < 1_000; at += 1) turns.take(`lab-${at}/a`, "refresh");
  turns.take("new/a", "first");
  turns.take("new/b", "refresh");
  turns.take("new/gone", "removal");
  await clock.advance(50);
  expect(called.slice(0, 4)).toEqual(["new/a", "lab-0/a", "new/gone", "lab-1/a"]);
  await clock.advance(10_000);
  expect(called).toHaveLength(1_003);
});
