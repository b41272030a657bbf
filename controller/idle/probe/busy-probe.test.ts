import { describe, expect, it } from "vitest";
import { judgeProbe } from "./busy-probe.ts";

describe("a busy probe", () => {
  it.each([200, 204, 299])("lets the sandbox sleep with %i", (answer) => {
    expect(judgeProbe(answer, 5, 60, 1_000)).toEqual({ maySleep: true, busySinceMs: undefined, overruled: false });
  });

  it.each([undefined, 199, 302, 404, 503])("keeps it awake with %s", (answer) => {
    expect(judgeProbe(answer, undefined, 60, 1_000)).toEqual({ maySleep: false, busySinceMs: 1_000, overruled: false });
  });

  it("keeps it awake for limitSeconds in a row, and no longer", () => {
    expect(judgeProbe(503, 1_000, 60, 60_999).maySleep).toBe(false);
    expect(judgeProbe(503, 1_000, 60, 61_000)).toEqual({ maySleep: true, busySinceMs: 1_000, overruled: true });
  });
});
