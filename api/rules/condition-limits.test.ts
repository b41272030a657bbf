import { describe, expect, it } from "vitest";
import { conditionMessage } from "./condition-limits.ts";

const max = 32_768;
const wide = "\u{1f4a4}";

describe("the message of a condition", () => {
  it.each([
    ["of one unit for each character", "a".repeat(max)],
    ["of two units for each character", wide.repeat(max)],
    ["of both kinds", `a${wide}`.repeat(max / 2)],
    ["with half a character", "\ud83d".repeat(max)],
  ])("is unchanged if it has 32,768 characters %s", (_, text) => {
    expect(conditionMessage(text) === text).toBe(true);
  });

  it.each([
    ["of one unit for each character", "a"],
    ["of two units for each character", wide],
  ])("ends in an ellipsis as the 32,768th character if it has more %s", (_, character) => {
    for (const count of [max + 1, 2 * max, 8 * max]) {
      const message = conditionMessage(character.repeat(count));
      expect(message === `${character.repeat(max - 1)}…`).toBe(true);
    }
  });

  it("keeps each character whole", () => {
    const message = conditionMessage(`${"a".repeat(max - 1)}${wide.repeat(2)}`);
    expect(message === `${"a".repeat(max - 1)}…`).toBe(true);
  });
});
