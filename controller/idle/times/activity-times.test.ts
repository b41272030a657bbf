import { describe, expect, it } from "vitest";
import { decideTimes } from "./activity-times.ts";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, seconds));
const text = (seconds: number) => at(seconds).toISOString().replace(".000Z", "Z");
const times = (last: number, next: number) => ({ lastActivityTime: text(last), nextSuspensionTime: text(next) });
const written = times(0, 300);

describe("the times of activity in the status", () => {
  it("are written when there are none yet, and removed when there are none any more", () => {
    expect(decideTimes({}, { last: at(0), next: at(300) }, 0)).toEqual({ is: "due", times: written });
    expect(decideTimes(written, { last: undefined, next: undefined }, 0)).toEqual({ is: "due", times: {} });
  });

  it("are not written when nothing has changed", () => {
    expect(decideTimes(written, { last: at(4), next: at(304) }, 3_600_000)).toEqual({ is: "written" });
    expect(decideTimes({}, { last: undefined, next: undefined }, 3_600_000)).toEqual({ is: "written" });
  });

  it("are written at most once a minute when they move later, and say how long they wait", () => {
    const known = { last: at(50), next: at(350) };
    expect(decideTimes(written, known, 59_999)).toEqual({ is: "waiting", forMs: 1 });
    expect(decideTimes(written, known, 60_000)).toEqual({ is: "due", times: times(50, 350) });
  });

  it("have the true last activity when the next suspension appears or disappears", () => {
    const asleep = { lastActivityTime: text(0) };
    expect(decideTimes(asleep, { last: at(50), next: at(350) }, 0)).toEqual({ is: "due", times: times(50, 350) });
    const known = { last: at(50), next: undefined };
    expect(decideTimes(written, known, 0)).toEqual({ is: "due", times: { lastActivityTime: text(50) } });
  });

  it("are written at once when the next suspension is earlier than the status says", () => {
    expect(decideTimes(written, { last: at(2), next: at(290) }, 0)).toEqual({ is: "due", times: times(2, 290) });
    expect(decideTimes(written, { last: at(2), next: at(296) }, 0)).toEqual({ is: "written" });
  });
});
