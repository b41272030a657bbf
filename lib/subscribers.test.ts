import { expect, it } from "vitest";
import { Subscribers } from "./subscribers.ts";

it("everybody hears the news in the order in which they came, until they do not want to any more", () => {
  const subscribers = new Subscribers<string>();
  const heard: string[] = [];
  const first = subscribers.add((news) => heard.push(`first: ${news}`));
  using _second = subscribers.add((news) => heard.push(`second: ${news}`));
  subscribers.tell("one");
  first[Symbol.dispose]();
  expect(subscribers.size).toBe(1);
  subscribers.tell("two");
  expect(heard).toEqual(["first: one", "second: one", "second: two"]);
});

it("who leaves while the news is told is told no more, and the others are", () => {
  const subscribers = new Subscribers();
  const heard: string[] = [];
  using _first = subscribers.add(() => second[Symbol.dispose]());
  const second = subscribers.add(() => heard.push("second"));
  using _third = subscribers.add(() => heard.push("third"));
  subscribers.tell();
  expect(heard).toEqual(["third"]);
});
