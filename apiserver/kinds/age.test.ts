import { expect, it } from "vitest";
import { ageSince, humanDuration } from "./age.ts";

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];

it.each([
  [0, "0s"],
  [119 * second, "119s"],
  [2 * minute, "2m"],
  [3 * minute + 2 * second, "3m2s"],
  [12 * minute + 5 * second, "12m"],
  [179 * minute, "179m"],
  [5 * hour + 20 * minute, "5h20m"],
  [9 * hour + 20 * minute, "9h"],
  [50 * hour, "2d2h"],
  [30 * day, "30d"],
  [800 * day, "2y70d"],
  [3_000 * day, "8y"],
  [-1 * minute, "<invalid>"],
])("%i ms is %s", (durationMs, text) => {
  expect(humanDuration(durationMs)).toBe(text);
});

it("an age without a time is unknown", () => {
  expect(ageSince(undefined, new Date(0))).toBe("<unknown>");
});
