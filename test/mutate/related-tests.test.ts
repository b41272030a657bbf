import { expect, it } from "vitest";
import { importsOf, relatedTests } from "./related-tests.ts";

it("the tests of a file are those that import it, also indirectly, nearest first", () => {
  const imports = new Map([
    ["a/far.test.ts", ["a/user.ts"]],
    ["a/user.ts", ["a/it.ts"]],
    ["b/it.test.ts", ["a/it.ts"]],
    ["a/it.test.ts", ["a/it.ts"]],
    ["a/other.test.ts", ["a/other.ts"]],
  ]);
  expect(relatedTests("a/it.ts", imports)).toEqual(["a/it.test.ts", "b/it.test.ts", "a/far.test.ts"]);
});

it("a program that is started by its URL counts as imported", () => {
  expect(importsOf("x/y.ts", 'const file = new URL("./b.ts", import.meta.url);')).toEqual(["x/b.ts"]);
});

it("imports of packages are ignored, and relative ones are resolved", () => {
  const text =
    'import { a } from "./b.ts";\nimport "../c.ts";\nimport { z } from "zod";\nconst d = await import("./d.ts");';
  expect(importsOf("x/y.ts", text)).toEqual(["x/b.ts", "c.ts", "x/d.ts"]);
});
