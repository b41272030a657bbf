import { describe, expect, it } from "vitest";
import type { OpenConnections } from "../../api/kinds/sandbox.ts";
import { eventually } from "../../test/support/eventually.ts";
import { KeptConnections } from "./kept-connections.ts";

/** More than one turn takes. */
const crowd = 1_000;

/** A crowd of connections to the Pods p1 and p2 of one sandbox, in turn. */
function given() {
  const kept = new KeptConnections(() => {});
  const meanings: OpenConnections[] = [];
  const fenced: number[] = [];
  const changes = { count: 0 };
  const ends = Array.from({ length: crowd }, (_, at) => {
    const mean = (meaning: OpenConnections) => {
      changes.count += 1;
      meanings[at] = meaning;
    };
    const entry = { sandboxUid: "u1", podUid: at % 2 ? "p2" : "p1", mean, fenced: () => void fenced.push(at) };
    return kept.add(entry, "Data");
  });
  changes.count = 0;
  const withMeaning = (meaning: OpenConnections) => meanings.filter((each) => each === meaning).length;
  return { kept, changes, fenced, ends, withMeaning };
}

describe("the meaning of many open connections", () => {
  it("changes in turns, and for all of them before it is read", async () => {
    const { kept, withMeaning } = given();
    kept.mean("u1", "Count");
    expect(withMeaning("Count")).toBeLessThan(100);
    kept.settle("u1");
    expect(withMeaning("Count")).toBe(crowd);
  });

  it("costs nothing while it stays the same, and changes at any rate no more than their last", async () => {
    const { kept, changes, withMeaning } = given();
    kept.mean("u1", "Data");
    expect(changes.count).toBe(0);
    for (let count = 0; count < 1_000; count += 1) kept.mean("u1", count % 2 ? "Ignore" : "Count");
    await eventually(() => withMeaning("Ignore") === crowd);
    expect(changes.count).toBeLessThan(crowd + 100);
  });

  it("is remembered of no sandbox whose connections have ended", () => {
    const { kept, ends } = given();
    kept.mean("u1", "Count");
    for (const end of ends) end[Symbol.dispose]();
    expect(kept.size).toBe(0);
  });
});

describe("many open connections to a fenced Pod", () => {
  it("are closed in turns, and those to another Pod stay", async () => {
    const { kept, fenced } = given();
    kept.closeAll("u1", "p1");
    expect(fenced.length).toBeLessThan(100);
    await eventually(() => fenced.length === crowd / 2);
    expect(fenced.every((at) => at % 2 === 0)).toBe(true);
  });

  it("are looked at once more if that is asked for meanwhile, however often", async () => {
    const { kept, fenced } = given();
    for (let count = 0; count < 100; count += 1) kept.closeAll("u1", "p1");
    await eventually(() => fenced.length === crowd);
    kept.closeAll("u1", "p1");
    await eventually(() => fenced.length === (crowd * 3) / 2);
  });
});
