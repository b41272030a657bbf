import { describe, expect, it } from "vitest";
import {
  findCondition,
  isConditionTrue,
  type SandboxFact,
  sandboxReasons,
  withCondition,
  withoutCondition,
} from "./conditions.ts";

const notReady: SandboxFact = {
  type: "Ready",
  status: "False",
  reason: "DependenciesNotReady",
  message: "Pod does not exist",
};
const ready: SandboxFact = { type: "Ready", status: "True", reason: "DependenciesReady", message: "Pod is Ready" };
const awake: SandboxFact = {
  type: "Suspended",
  status: "False",
  reason: "NotSuspended",
  message: "Sandbox is not suspended",
};
const noon = new Date("2026-03-01T12:00:00.789Z");
const later = new Date("2026-03-01T12:00:09Z");

describe("withCondition", () => {
  const atNoon = withCondition(undefined, notReady, { generation: 1, at: noon });

  it("adds a condition that was not there, with a time in whole seconds", () => {
    expect(atNoon).toEqual([{ ...notReady, observedGeneration: 1, lastTransitionTime: "2026-03-01T12:00:00Z" }]);
  });

  it("keeps the time while the status stays, and refreshes everything else", () => {
    const message = "Pod exists with phase: Pending";
    expect(withCondition(atNoon, { ...notReady, message }, { generation: 2, at: later })).toEqual([
      { ...notReady, message, observedGeneration: 2, lastTransitionTime: "2026-03-01T12:00:00Z" },
    ]);
  });

  it("moves the time when the status changes", () => {
    expect(withCondition(atNoon, ready, { generation: 1, at: later })).toEqual([
      { ...ready, observedGeneration: 1, lastTransitionTime: "2026-03-01T12:00:09Z" },
    ]);
  });

  it("leaves the others and their order alone", () => {
    const two = withCondition(atNoon, awake, { generation: 1, at: noon });
    const changed = withCondition(two, ready, { generation: 1, at: later });
    expect(changed.map(({ type, status }) => `${type}=${status}`)).toEqual(["Ready=True", "Suspended=False"]);
    expect(two.map(({ type, status }) => `${type}=${status}`)).toEqual(["Ready=False", "Suspended=False"]);
  });

  it("says the same twice when it is told the same twice", () => {
    expect(withCondition(atNoon, notReady, { generation: 1, at: later })).toEqual(atNoon);
  });
});

it("finds a condition by its type, and takes it away", () => {
  const both = withCondition(withCondition([], ready, { generation: 1, at: noon }), awake, { generation: 1, at: noon });
  expect(findCondition(both, "Ready")?.reason).toBe("DependenciesReady");
  expect(findCondition(undefined, "Ready")).toBeUndefined();
  expect(isConditionTrue(both, "Ready")).toBe(true);
  expect(isConditionTrue(both, "Suspended")).toBe(false);
  expect(isConditionTrue(both, "Finished")).toBe(false);
  expect(withoutCondition(both, "Ready").map(({ type }) => type)).toEqual(["Suspended"]);
});

it("says InvalidConfiguration of what an API server refuses for good (X1)", () => {
  expect(sandboxReasons.Ready).toContain("InvalidConfiguration");
});
