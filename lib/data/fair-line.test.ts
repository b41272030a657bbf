import { describe, expect, it } from "vitest";
import { FairLine } from "./fair-line.ts";

function given(...items: readonly (readonly [group: string, item: string, isUrgent?: boolean])[]) {
  const line = new FairLine<string>();
  for (const [group, item, isUrgent] of items) line.add(group, item, isUrgent);
  const takeAll = () => {
    const taken: (string | undefined)[] = [];
    while (line.size > 0) taken.push(line.take());
    return taken;
  };
  return { line, takeAll };
}

describe("items that wait in a line of several groups", () => {
  it("come by turns of their groups, in each the oldest first", () => {
    const { line, takeAll } = given(["a", "a1"], ["a", "a2"], ["a", "a3"], ["b", "b1"], ["c", "c1"], ["b", "b2"]);
    expect([...line.heads()]).toEqual(["a1", "b1", "c1"]);
    expect(takeAll()).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
    expect(line.take()).toBeUndefined();
  });

  it("come before the others of their group, not of other groups, if they are urgent", () => {
    const { takeAll } = given(["a", "a1"], ["b", "b1"], ["a", "a2"], ["b", "b2", true]);
    expect(takeAll()).toEqual(["a1", "b2", "a2", "b1"]);
  });

  it("can be removed, and leave no entry", () => {
    const { line, takeAll } = given(["a", "a1"], ["a", "a2", true], ["b", "b1"]);
    for (const [group, item] of [
      ["a", "a1"],
      ["b", "b1"],
      ["b", "b1"],
      ["a", "b1"],
    ] as const) {
      line.delete(group, item);
    }
    expect([line.size, ...line.heads()]).toEqual([1, "a2"]);
    expect(takeAll()).toEqual(["a2"]);
  });
});
