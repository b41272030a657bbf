import { describe, expect, it } from "vitest";
import { inactivityTimeoutMs, runHandshakeLab, runQuestionLab } from "../../test/support/labs/handshake-lab.ts";

describe("around the idle deadline", () => {
  const offsets = Array.from({ length: 101 }, (_, index) => index - 50);

  it("a request at any millisecond is answered once, by one execution, and is not cut", async () => {
    const outcomes = [];
    for (const offsetMs of offsets) {
      const { requests, pods } = await runHandshakeLab([inactivityTimeoutMs + offsetMs]);
      expect({ offsetMs, requests }).toEqual({ offsetMs, requests: [{ state: "answered", executions: 1 }] });
      outcomes.push(pods);
    }
    // Both ways were taken: the first Pod was kept, and a second one was made.
    expect([...new Set(outcomes)].sort()).toEqual([1, 2]);
  }, 60_000);

  it("a request in every millisecond at once is answered the same", async () => {
    const { requests } = await runHandshakeLab(offsets.map((offsetMs) => inactivityTimeoutMs + offsetMs));
    expect(requests).toEqual(offsets.map(() => ({ state: "answered", executions: 1 })));
  });

  it("a question on an open connection is answered, or the connection is closed at once", async () => {
    const seen = new Map<string, number>();
    for (const offsetMs of offsets) {
      const workMs = 3 * inactivityTimeoutMs;
      const { state, closedAfterMs = 0 } = await runQuestionLab({ atMs: inactivityTimeoutMs + offsetMs, workMs });
      expect({ offsetMs, state }).not.toMatchObject({ state: "cut" });
      expect(closedAfterMs, `${offsetMs} ms after the deadline`).toBeLessThan(20);
      seen.set(state, (seen.get(state) ?? 0) + 1);
    }
    expect([...seen.keys()].sort()).toEqual(["answered", "closed", "closedEarly"]);
  }, 60_000);

  it("an unused sandbox loses its Pod", async () => {
    expect(await runHandshakeLab([])).toEqual({ requests: [], pods: 0 });
  });
});
