import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../test/support/seeded-random.ts";
import { Base64Decoder } from "./base64-decoder.ts";

const decoded = (text: string, at: readonly number[] = []) => {
  const decoder = new Base64Decoder();
  const bytes = Buffer.from(text, "latin1");
  const parts: Buffer[] = [];
  for (const [index, from] of [0, ...at].entries()) {
    const part = decoder.decode(bytes.subarray(from, at[index] ?? bytes.length));
    if (!part) return "refused";
    parts.push(part);
  }
  return decoder.isBetween ? Buffer.concat(parts).toString("latin1") : "broken off";
};

describe("base64 of a client", () => {
  it("is decoded wherever it is split, with padding after any piece", () => {
    const random = seededRandom(1);
    for (let round = 0; round < 500; round += 1) {
      const pieces = Array.from({ length: 1 + random.below(4) }, () =>
        Buffer.from(Array.from({ length: random.below(9) }, () => random.below(256))),
      );
      const text = pieces.map((piece) => piece.toString("base64")).join("");
      const splits = Array.from({ length: random.below(5) }, () => random.below(text.length + 1)).sort((a, b) => a - b);
      expect(decoded(text, splits)).toBe(Buffer.concat(pieces).toString("latin1"));
    }
  });

  it.each([
    ["AAA", "broken off"],
    ["A", "broken off"],
    ["AA=", "broken off"],
    ["AA=A", "refused"],
    ["A===", "refused"],
    ["====", "refused"],
    ["AAAA\n", "refused"],
    ["AA-_", "refused"],
    ["AA A", "refused"],
    ["AA\xff=", "refused"],
  ])("%j is %s", (text, outcome) => {
    expect(decoded(text)).toBe(outcome);
    for (let at = 1; at < text.length; at += 1) expect(decoded(text, [at])).toBe(outcome);
  });
});
