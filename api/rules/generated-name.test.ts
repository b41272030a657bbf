import { expect, it } from "vitest";
import { generatedName } from "./generated-name.ts";
import { isDnsLabel } from "./names.ts";

it("a generated name is its base and five characters that spell no word", () => {
  expect(generatedName("warm-")).toMatch(/^warm-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

it("a generated name is a DNS label, however long its base is", () => {
  expect(generatedName("n".repeat(200))).toMatch(/^n{58}.{5}$/);
  expect(isDnsLabel(generatedName("n".repeat(200)))).toBe(true);
});
