import { expect, it } from "vitest";
import { onUnexpectedError } from "../guard/guard.ts";
import { Subscribers } from "./subscribers.ts";

it("listeners are notified in their order, until they are removed", () => {
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

it("a listener removed during a notification is not called, and the others are", () => {
  const subscribers = new Subscribers();
  const heard: string[] = [];
  using _first = subscribers.add(() => second[Symbol.dispose]());
  const second = subscribers.add(() => heard.push("second"));
  using _third = subscribers.add(() => heard.push("third"));
  subscribers.tell();
  expect(heard).toEqual(["third"]);
});

it("a listener that throws affects neither the others nor the caller", () => {
  const errors: unknown[] = [];
  using _reports = onUnexpectedError((_where, error) => errors.push(error));
  const subscribers = new Subscribers();
  const broken = new Error("broken");
  const heard: string[] = [];
  using _first = subscribers.add(() => {
    throw broken;
  });
  using _second = subscribers.add(() => heard.push("second"));
  subscribers.tell();
  expect(heard).toEqual(["second"]);
  expect(errors).toEqual([broken]);
});
