import { describe, expect, it } from "vitest";
import { countEnd, initRestartPolicy, restartDelayMs, shouldRestart } from "./restart-policy.ts";

it.each([
  { policy: undefined, exitCode: 0, restarts: true },
  { policy: "Always", exitCode: 0, restarts: true },
  { policy: "OnFailure", exitCode: 0, restarts: false },
  { policy: "OnFailure", exitCode: 1, restarts: true },
  { policy: "Never", exitCode: 1, restarts: false },
])("with $policy and exit code $exitCode restarts: $restarts", ({ policy, exitCode, restarts }) => {
  expect(shouldRestart(policy, exitCode)).toBe(restarts);
});

it("lets an init container succeed once under Always", () => {
  expect(["Always", "OnFailure", "Never", undefined].map(initRestartPolicy)).toEqual([
    "OnFailure",
    "OnFailure",
    "Never",
    "OnFailure",
  ]);
});

describe("the delay before a restart", () => {
  it("is zero the first time, then 10 s doubling to 5 min", () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 100].map(restartDelayMs)).toEqual([
      0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000,
    ]);
  });

  it("is reset after a run of 10 min", () => {
    expect([countEnd(5, 599_999), countEnd(5, 600_000)]).toEqual([6, 1]);
  });
});
