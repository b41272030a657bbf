import { describe, expect, it } from "vitest";
import { timesToWrite } from "./activity-times.ts";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, seconds));
const text = (seconds: number) => at(seconds).toISOString().replace(".000Z", "Z");
const written = { lastActivityTime: text(0), nextSuspensionTime: text(300) };

describe("the times of activity in the status", () => {
  it("are written when there are none yet, and taken off when there are none any more", () => {
    expect(timesToWrite({}, { last: at(0), next: at(300) }, 0)).toEqual(written);
    expect(timesToWrite(written, { last: at(0), next: undefined }, 0)).toEqual({ lastActivityTime: text(0) });
  });

  it("are not written when nothing has changed", () => {
    expect(timesToWrite(written, { last: at(4), next: at(304) }, 3_600_000)).toBeUndefined();
    expect(timesToWrite({}, { last: undefined, next: undefined }, 3_600_000)).toBeUndefined();
  });

  it("are written at most once a minute", () => {
    const known = { last: at(50), next: at(350) };
    expect(timesToWrite(written, known, 59_999)).toBeUndefined();
    expect(timesToWrite(written, known, 60_000)).toEqual({ lastActivityTime: text(50), nextSuspensionTime: text(350) });
  });
});
