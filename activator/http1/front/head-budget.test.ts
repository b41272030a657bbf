import { describe, expect, it } from "vitest";
import { HeadBudget, type UnfinishedHead, unknownOwner } from "./head-budget.ts";

const keptBytes = 5_000;

/** A budget with room for a few heads, and the names of those that were shed. */
function openBudget() {
  const shed: string[] = [];
  const budget = new HeadBudget(50_000);
  const keep = (owner: string, name: string): UnfinishedHead => {
    const head = { owner, shed: () => void shed.push(name) };
    budget.keep(head, keptBytes);
    return head;
  };
  return { budget, shed, keep };
}

describe("a budget for unfinished heads", () => {
  it("takes the oldest of the namespace that has most", () => {
    const { shed, keep } = openBudget();
    keep(unknownOwner, "of a client");
    keep("quiet", "of a quiet namespace");
    for (let at = 0; at < 5; at += 1) keep("greedy", `greedy ${at}`);
    expect(shed).toEqual(["greedy 0", "greedy 1"]);
  });

  it("takes those of clients if they have most", () => {
    const { shed, keep } = openBudget();
    keep("quiet", "of a quiet namespace");
    for (let at = 0; at < 6; at += 1) keep(unknownOwner, `client ${at}`);
    expect(shed).toEqual(["client 0", "client 1"]);
  });

  it("forgets a head that was released, once", () => {
    const { budget, shed, keep } = openBudget();
    const head = keep("quiet", "released");
    budget.release(head);
    budget.release(head);
    expect([budget.bytes, shed]).toEqual([0, []]);
  });
});
