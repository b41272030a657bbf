import { expect, it } from "vitest";
import { describeTimeline } from "./wake-timeline.ts";

it("lists the timeline of a wake in milliseconds, and marks steps that were not seen", () => {
  const timeline = { seen: 0, wakePatched: 2.04, podCreated: 6, portAccepted: 58.26, firstByte: undefined } as const;
  expect(describeTimeline(timeline)).toBe(
    [
      "  request seen                  0.0 ms",
      "  resume written to the API     2.0 ms",
      "  Pod created                   6.0 ms",
      "  port accepts connections     58.3 ms",
      "  response begins                    ?",
      "",
    ].join("\n"),
  );
});
