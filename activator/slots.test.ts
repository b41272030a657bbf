import { expect, it } from "vitest";
import { Slots } from "./slots.ts";

it("places are lent up to each limit and given back once", () => {
  const slots = new Slots({ total: 4, perNamespace: 3, perSandbox: 2 });
  const first = slots.admit("a", "x");
  slots.admit("a", "x");
  expect(() => slots.admit("a", "x")).toThrow("Too many requests are waiting.");
  slots.admit("a", "y");
  expect(() => slots.admit("a", "z")).toThrow("Too many requests are waiting.");
  slots.admit("b", "x");
  expect(() => slots.admit("c", "x")).toThrow("Too many requests are waiting.");
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect(slots.total).toBe(3);
  slots.admit("a", "x");
  expect(() => slots.admit("a", "x")).toThrow();
});
