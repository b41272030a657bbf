import { expect, it } from "vitest";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { ExpansionTooLong, expand } from "./expansion.ts";

const variables: Readonly<Record<string, string>> = { IP: "127.64.1.2", EMPTY: "", REF: "$(IP)" };
const lookUp = (name: string) => variables[name];

it.each([
  { text: "--bind=$(IP)", becomes: "--bind=127.64.1.2", because: "the variable is there" },
  { text: "$(IP):$(IP)", becomes: "127.64.1.2:127.64.1.2", because: "each reference counts" },
  { text: "[$(EMPTY)]", becomes: "[]", because: "an empty value is a value" },
  { text: "$(REF)", becomes: "$(IP)", because: "a value is not expanded again" },
  { text: "$(NONE)", becomes: "$(NONE)", because: "what has no value stays" },
  { text: "$$(IP)", becomes: "$(IP)", because: "two dollars are one that means nothing" },
  { text: "$$$(IP)", becomes: "$127.64.1.2", because: "the third dollar begins a reference" },
  { text: "$IP $(IP", becomes: "$IP $(IP", because: "only closed parentheses refer" },
  {
    text: "$(IP)$(IP $$ $$(IP",
    becomes: "127.64.1.2$(IP $ $(IP",
    because: "two dollars are one in an open reference too",
  },
  { text: "cost: 5$", becomes: "cost: 5$", because: "a dollar at the end is a dollar" },
])("expands $text to $becomes, for $because", ({ text, becomes }) => {
  expect(expand(text, lookUp, 100)).toBe(becomes);
});

it("refuses values that are too long together before it joins them", () => {
  const value = "x".repeat(1_000_000);
  expect(expand("$(A)$(A)", () => value, 2_000_000)).toHaveLength(2_000_000);
  expect(() => expand("$(A)$(A)", () => value, 1_999_999)).toThrow(ExpansionTooLong);
  const longerThanAString = "$(A)".repeat(600);
  expect(() => expand(longerThanAString, () => value, 1_999_999)).toThrow(ExpansionTooLong);
});

it.each(["$(", "$$", "$(A)", "$", "("])("expands 400,000 characters of %j in little time", (unit) => {
  const text = unit.repeat(400_000 / unit.length);
  expect(cpuMs(() => expand(text, () => "", 0))).toBeLessThan(500);
});
