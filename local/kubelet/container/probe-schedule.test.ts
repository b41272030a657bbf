import { describe, expect, it } from "vitest";
import type { Probe } from "../../../api/kinds/core.ts";
import { beginProbe, type ProbeKind, probeTimings, stepProbe } from "./probe-schedule.ts";

/** Simulates attempts without duration, each when it is due; returns the time and the result of each. */
function play(kind: ProbeKind, probe: Probe, results: readonly boolean[]) {
  const timings = probeTimings(kind, probe);
  let nowMs = timings.initialDelayMs;
  let progress = beginProbe(timings, nowMs);
  return results.map((passed) => {
    const step = stepProbe(progress, timings, { passed, begunMs: nowMs, nowMs });
    const played = { atMs: nowMs, verdict: step.verdict, counted: step.counted };
    progress = step.progress;
    nowMs += step.nextInMs;
    return played;
  });
}

const port = { tcpSocket: { port: 80 } };

it("has the API's defaults", () => {
  expect(probeTimings("Liveness", port)).toMatchObject({
    initialDelayMs: 0,
    periodMs: 10_000,
    timeoutMs: 1_000,
    successThreshold: 1,
    failureThreshold: 3,
  });
});

describe("a liveness probe", () => {
  it("fails after as many failures in a row as its threshold, one period apart", () => {
    const probe = { ...port, initialDelaySeconds: 2, periodSeconds: 5, failureThreshold: 2 };
    expect(play("Liveness", probe, [false, true, false, false])).toEqual([
      { atMs: 2_000, verdict: undefined, counted: true },
      { atMs: 7_000, verdict: "passed", counted: true },
      { atMs: 12_000, verdict: undefined, counted: true },
      { atMs: 17_000, verdict: "failed", counted: true },
    ]);
  });
});

describe("a readiness probe", () => {
  it("is probed in small steps until it passes, and then once a period", () => {
    const played = play("Readiness", port, [false, false, false, true, true, true]);
    expect(played.map(({ atMs }) => atMs)).toEqual([0, 20, 60, 140, 10_140, 20_140]);
    expect(played.map(({ counted }) => counted)).toEqual([false, false, false, true, true, true]);
    expect(played[3]?.verdict).toBe("passed");
  });

  it("counts its failures once a period, not in small steps", () => {
    const probe = { ...port, periodSeconds: 1, failureThreshold: 2 };
    const counted = play("Readiness", probe, Array(12).fill(false)).filter((attempt) => attempt.counted);
    expect(counted.slice(0, 3)).toEqual([
      { atMs: 1_000, verdict: undefined, counted: true },
      { atMs: 2_000, verdict: "failed", counted: true },
      { atMs: 3_000, verdict: "failed", counted: true },
    ]);
  });

  it("does not run a command more often than once a period", () => {
    const played = play("Readiness", { exec: { command: ["true"] } }, [false, false, true]);
    expect(played.map(({ atMs }) => atMs)).toEqual([0, 10_000, 20_000]);
  });

  it("takes as many consecutive successes as its threshold", () => {
    const verdicts = play("Readiness", { ...port, successThreshold: 2 }, [true, false, true, true]).map(
      ({ verdict }) => verdict,
    );
    expect(verdicts).toEqual([undefined, undefined, undefined, "passed"]);
  });
});
