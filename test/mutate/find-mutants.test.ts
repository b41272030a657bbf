import { expect, it } from "vitest";
import { applyTo, findMutants } from "./find-mutants.ts";

const mutationsOf = (text: string) => findMutants("a.ts", text).map((mutant) => applyTo(text, mutant));

it.each([
  ["if (a) b;", ["if (true) b;", "if (false) b;"]],
  ["x = a < 1;", ["x = a <= 1;", "x = a >= 1;"]],
  ["x = a && b;", ["x = a || b;"]],
  ["x = a ?? b;", ["x = a && b;"]],
  ["x = !a;", ["x = a;"]],
  ["x = true;", ["x = false;"]],
  ["x = a?.b;", ["x = a.b;"]],
  ["x = a.every(b);", ["x = a.some(b);"]],
  ["await a(1);", [";"]],
  ["x = { a: 1, b };", ["x = {  b };", "x = { a: 1,  };"]],
  ["function f() { return 1; }", ["function f() {}"]],
  ["while (a) b;", ["while (false) b;"]],
  ['x = a === "b";', ['x = a !== "b";', 'x = a === "";']],
])("%s gets one change at a time", (text, expected) => {
  expect(mutationsOf(text)).toEqual(expected);
});

it.each([
  'import { a } from "b";',
  "type A = { a?: true };",
  'log.warn({ err: true }, "no");',
  'throw new Error(a && "no");',
  'x = "a" + b;',
])("%s gets no change", (text) => {
  expect(mutationsOf(text)).toEqual([]);
});

it("a mutant has a position, and is the same in every run", () => {
  const text = "ü;\nconst x = a as { b: 1 } && c;\n";
  const [mutant] = findMutants("a.ts", text);
  expect(mutant).toMatchObject({ file: "a.ts", line: 2, original: "&&", by: "||" });
  expect(findMutants("a.ts", text)).toEqual([mutant]);
});
