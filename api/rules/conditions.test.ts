import { describe, expect, it } from "vitest";
import {
  type Fact,
  findCondition,
  isConditionTrue,
  type SandboxFact,
  sandboxReasons,
  wholeSeconds,
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

it("a time in a status has a year that an API server accepts", () => {
  const times = ["+010000-01-01T23:58:59Z", "-000001-01-01T00:00:00Z"].map((text) => wholeSeconds(new Date(text)));
  expect(times).toEqual(["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"]);
});

describe("withCondition", () => {
  const atNoon = withCondition(undefined, notReady, { generation: 1, at: noon });

  it("adds a new condition, with a time in whole seconds", () => {
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

  it("returns equal conditions for equal facts", () => {
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

it("reports InvalidConfiguration for a permanent rejection by the API server", () => {
  expect(sandboxReasons.Ready).toContain("InvalidConfiguration");
});

describe("a condition with a text that is not ours", () => {
  const written = (fact: Partial<Fact>) => {
    const [condition] = withCondition([], { ...ready, ...fact } as Fact, { generation: 1, at: noon });
    return condition;
  };

  it.each([
    ["NotEnough resources (gpu)", "NotEnough_resources_gpu_"],
    ["Unschedulable", "Unschedulable"],
    ["a,b:c", "a,b:c"],
    ["Quota:", "Quota"],
    ["42 nodes", "nodes"],
    ["-", "Unknown"],
    ["", "Unknown"],
    ["Größe", "Gr_e"],
    ["R".repeat(1_025), "R".repeat(1_024)],
    [`${"R".repeat(1_023)},x`, "R".repeat(1_023)],
  ])("has a reason that a server takes (%#)", (reason, expected) => {
    expect(written({ reason })?.reason).toBe(expected);
  });

  it("has a message of at most 32768 characters as a server counts them", () => {
    const countOf = (message: string) => [...(written({ message })?.message ?? "")].length;
    expect(written({ message: "x".repeat(32_768) })?.message).toBe("x".repeat(32_768));
    expect(written({ message: "😀".repeat(32_768) })?.message).toBe("😀".repeat(32_768));
    expect(countOf("x".repeat(32_769))).toBe(32_768);
    expect(countOf("😀".repeat(32_769))).toBe(32_768);
    expect(countOf("x".repeat(600_000))).toBe(32_768);
    expect(written({ message: "x".repeat(600_000) })?.message).toMatch(/^x+…$/);
  });

  it("has a status that a server takes", () => {
    expect(written({ status: "yes" as "True" })?.status).toBe("Unknown");
  });
});
