import { describe, expect, it } from "vitest";
import type { Condition, ConditionStatus } from "../../../api/kinds/meta.ts";
import { mergeConditions } from "./merge-conditions.ts";

/** Conditions as `Ready=True Suspended=False`. */
const parsed = (text: string): readonly Condition[] =>
  text.split(" ").flatMap((one) => {
    const [type = "", status = ""] = one.split("=");
    if (type === "") return [];
    const rest = { reason: "Known", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
    return { type, status: status as ConditionStatus, ...rest };
  });

const merged = (before: string, after: string, now: string) =>
  mergeConditions(parsed(before), parsed(after), parsed(now))
    .map(({ type, status }) => `${type}=${status}`)
    .join(" ");

describe("conditions that two programs change at the same time", () => {
  it.each([
    ["a new one of another program stays", "A=False", "A=True", "A=False X=True", "A=True X=True"],
    ["a change of another program stays", "A=False X=False", "A=True X=False", "A=False X=True", "A=True X=True"],
    ["one that another program removed stays away", "A=False X=True", "A=True X=True", "A=False", "A=True"],
    ["one that we removed goes", "A=True B=True", "A=True", "A=True B=True X=True", "A=True X=True"],
    ["one that we removed goes, also if it was changed", "B=True", "", "B=False X=True", "X=True"],
    ["one that we added comes", "A=True", "A=True B=True", "X=True A=True", "X=True A=True B=True"],
    ["one that both changed has our value", "A=False", "A=True", "A=Unknown", "A=True"],
    ["one that we changed and another removed comes back", "A=False", "A=True", "X=True", "X=True A=True"],
    ["without a change of ours nothing changes", "A=True", "A=True", "A=False X=True", "A=False X=True"],
    ["the first of all are added", "", "A=True", "", "A=True"],
  ])("%s", (_what, before, after, now, expected) => {
    expect(merged(before, after, now)).toBe(expected);
  });
});
