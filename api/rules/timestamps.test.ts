import { describe, expect, it } from "vitest";
import { isDate, isDateTime, isUnreadableTime, readTime, unreadableTimesText } from "./timestamps.ts";

// Values of `format: date-time` that kube-apiserver v1.36 accepts or rejects, and the time that Go's
// time.Parse(time.RFC3339) returns.
const taken: readonly (readonly [text: string, moment: string | undefined])[] = [
  ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
  ["2026-01-02t03:04:05z", "2026-01-02T03:04:05.000Z"],
  ["2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123Z"],
  ["2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05.500Z"],
  ["2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000Z"],
  ["2026-01-02T23:59:59-23:59", "2026-01-03T23:58:59.000Z"],
  ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"],
  // In UTC these are of years that no API server accepts.
  ["9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.000Z"],
  ["0000-01-01T00:00:00+23:59", "0001-01-01T00:00:00.000Z"],
  ["2099-01-01T00:00:00+24:00", undefined],
  ["2099-01-01T00:00:00+99:99", undefined],
  ["2099-01-01T00:00:00x5Z", undefined],
  ["2099-01-01T00:00:00😀5Z", undefined],
  ["2099-01-01T00:00:00ZT", undefined],
  ["2099-01-01T00:00:00Ztomorrow", undefined],
];
const refused = [
  "",
  "now",
  "2026-01-02",
  "2026-01-02T",
  "2026-01-02 03:04:05Z",
  "2026-01-02T03:04Z",
  "2026-01-02T24:00:00Z",
  "2026-01-02T23:60:00Z",
  "2026-01-02T23:59:60Z",
  "2026-02-29T00:00:00Z",
  "2100-02-29T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-00-01T00:00:00Z",
  "2026-01-00T00:00:00Z",
  "2026-01-32T00:00:00Z",
  "26-01-02T03:04:05Z",
  "12026-01-02T03:04:05Z",
  "2026-01-02T03:04:05",
  "2026-01-02T03:04:05.Z",
  "2026-01-02T03:04:05\n5Z",
  "2026-01-02T03:04:05+0200",
  "2026-01-02T03:04:05Z\n",
  " 2026-01-02T03:04:05Z",
  "2026-01-02Q03:04:05Z",
];

describe("a text where a time is expected", () => {
  it.each(taken)("is accepted by an API server: %j, with the value %s", (text, moment) => {
    expect(isDateTime(text)).toBe(true);
    expect(readTime(text)?.toISOString()).toBe(moment);
    expect(isUnreadableTime(text)).toBe(moment === undefined);
  });

  it.each(refused)("is refused by an API server: %j", (text) => {
    expect(isDateTime(text)).toBe(false);
    expect(readTime(text)).toBeUndefined();
  });

  it("that is absent or empty is no time, and not unreadable either", () => {
    for (const text of [undefined, ""]) {
      expect(readTime(text)).toBeUndefined();
      expect(isUnreadableTime(text)).toBe(false);
    }
  });

  it("may be a list of anything, which API servers take, and which no time can be read from", () => {
    for (const list of [[], ["2001-01-01T00:00:00Z"], [null]]) {
      expect(readTime(list)).toBeUndefined();
      expect(isUnreadableTime(list)).toBe(true);
    }
    const text = unreadableTimesText({ shutdownTime: ["2001-01-01T00:00:00Z", "x".repeat(100_000)] });
    expect(text).toContain("shutdownTime a list");
    const nested = JSON.parse(`${"[".repeat(9_900)}${"]".repeat(9_900)}`);
    expect(unreadableTimesText({ shutdownTime: nested })).toBe(text);
  });

  it("is shown by its first 64 characters if it cannot be read", () => {
    const text = unreadableTimesText({ shutdownTime: "x".repeat(100_000) });
    expect(text?.match(/x+/)?.[0]).toHaveLength(64);
  });

  it("may be a date alone, by the calendar", () => {
    expect(["2024-02-29", "0000-02-29", "2026-12-31"].map(isDate)).toEqual([true, true, true]);
    expect(["2025-02-29", "2026-04-31", "2026-1-1", "2026-01-01Z", "0000-00-01"].some(isDate)).toBe(false);
  });
});
