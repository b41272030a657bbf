import { expect, it } from "vitest";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import { ownText } from "./own-text.ts";

it.each(["", "a", "plain", "Zürich ÿ", "żółć 漢字 😀", "half of a pair \ud800", "x".repeat(100_000)])(
  "a text in memory of its own is the same text: %#",
  (text) => expect(ownText(text)).toBe(text),
);

it.each([
  ["a part of a long text", (long: string) => long.slice(-20)],
  ["a text put together from parts of a long text", (long: string) => `${long.slice(-20)}/${long.slice(-40, -20)}`],
])("%s keeps nothing of the long text", async (_, part) => {
  const kept: string[] = [];
  const bytes = await heapBytesOf(() => {
    for (let count = 0; count < 200; count += 1) kept.push(ownText(part(Buffer.alloc(60_000, "x").toString("latin1"))));
  });
  expect(bytes / kept.length).toBeLessThan(5_000);
});
