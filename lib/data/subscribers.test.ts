import { expect, it } from "vitest";
import { onUnexpectedError } from "../guard/guard.ts";
import { Subscribers } from "./subscribers.ts";

it("listeners are notified in their order, until they are removed", () => {
  const subscribers = new Subscribers<string>();
  const received: string[] = [];
  const first = subscribers.add((update) => received.push(`first: ${update}`));
  using _second = subscribers.add((update) => received.push(`second: ${update}`));
  subscribers.notify("one");
  first[Symbol.dispose]();
  expect(subscribers.size).toBe(1);
  subscribers.notify("two");
  expect(received).toEqual(["first: one", "second: one", "second: two"]);
});

it("a listener removed during a notification is not called, and the others are", () => {
  const subscribers = new Subscribers();
  const received: string[] = [];
  using _first = subscribers.add(() => second[Symbol.dispose]());
  const second = subscribers.add(() => received.push("second"));
  using _third = subscribers.add(() => received.push("third"));
  subscribers.notify();
  expect(received).toEqual(["third"]);
});

it("a listener that throws affects neither the others nor the caller", () => {
  const errors: unknown[] = [];
  using _reports = onUnexpectedError((_where, error) => errors.push(error));
  const subscribers = new Subscribers();
  const broken = new Error("broken");
  const received: string[] = [];
  using _first = subscribers.add(() => {
    throw broken;
  });
  using _second = subscribers.add(() => received.push("second"));
  subscribers.notify();
  expect(received).toEqual(["second"]);
  expect(errors).toEqual([broken]);
});
