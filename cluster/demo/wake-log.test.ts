import { describe, expect, it } from "vitest";
import { findWake } from "./wake-log.ts";

const line = (userAgent: string, rest: object = {}) =>
  JSON.stringify({ level: "info", msg: "request", user_agent: userAgent, status: 200, ...rest });

describe("findWake", () => {
  it("finds the timeline of one request among those of others", () => {
    const log = [
      "not JSON",
      line("curl/8", { wake: { seen: 0, wakePatched: 9 } }),
      line("demonstration/1", { wake: { seen: 0, wakePatched: 12.5, podCreated: 20, firstByte: 900 } }),
      "",
    ].join("\n");
    expect(findWake(log, "demonstration/1")).toEqual({
      seen: 0,
      wakePatched: 12.5,
      podCreated: 20,
      portAccepted: undefined,
      firstByte: 900,
    });
  });

  it("is empty if the request woke no sandbox, or has not ended yet", () => {
    expect(findWake(line("demonstration/1"), "demonstration/1")).toBeUndefined();
    expect(findWake("", "demonstration/1")).toBeUndefined();
  });
});
