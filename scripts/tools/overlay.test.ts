import { describe, expect, it } from "vitest";
import { changedText } from "./overlay.ts";

const overlay = { module: "example.com/a", file: "b.go", replaced: "return err", by: "_ = err" };

describe("the overlay of a file", () => {
  it("replaces one text and keeps the rest", () => {
    expect(changedText("if bad {\n\treturn err\n}\n", overlay)).toBe("if bad {\n\t_ = err\n}\n");
  });

  it.each([
    ["is gone", "if bad {\n}\n", 0],
    ["is ambiguous", "return err\nreturn err\n", 2],
  ])("is refused if the replaced text %s, as in another version of the module", (_, text, times) => {
    expect(() => changedText(text, overlay)).toThrow(`b.go of example.com/a has ${times} times, not once: return err`);
  });
});
