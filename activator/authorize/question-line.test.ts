import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { QuestionLine } from "./question-line.ts";

const options = { open: { max: 1, maxOfGroup: 1 }, waitingMax: 4, waitMs: 1_000 };

it("a question that got its turn has no limit any more, and one that did not is never asked", async () => {
  const clock = new FakeClock();
  const line = new QuestionLine({ ...options, clock });
  const asked: string[] = [];
  const first = Promise.withResolvers<string>();
  const ask = (name: string, answer: Promise<string>) =>
    line.run("owner", () => {
      asked.push(name);
      return answer;
    });
  const answers = [ask("first", first.promise), ask("second", Promise.resolve("two"))];
  await clock.advance(500);
  first.resolve("one");
  expect(await Promise.all(answers)).toEqual(["one", "two"]);
  expect(clock.pending).toBe(0);
  const open = ask("third", new Promise(() => {}));
  const late = ask("late", Promise.resolve("four"));
  await clock.advance(1_000);
  expect(await late).toBeUndefined();
  expect(asked).toEqual(["first", "second", "third"]);
  expect(line.hasRoom("owner")).toBe(true);
  void open;
});
