import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { TurnoverMap, TurnoverSet } from "./turnover.ts";

const run = promisify(execFile);
const additions = 1_000;

/** The full collections of a process whose entries come and go. */
async function fullCollections(kind: "Map" | "TurnoverMap"): Promise<number> {
  const options = ["--no-warnings", "--max-semi-space-size=16"];
  const { stdout } = await run(process.execPath, [...options, "test/programs/short-lived-entries.ts", kind]);
  return Number(stdout);
}

describe("a map for entries that come and go", () => {
  it("has the entries of a Map, in the same order", () => {
    const map = new TurnoverMap<number, string>();
    const model = new Map<number, string>();
    for (let key = 0; key < additions; key += 1) {
      for (const each of [map, model]) each.set(key, `v${key}`);
      if (key % 3 > 0) expect(map.delete(key - 1)).toBe(model.delete(key - 1));
      if (key % 7 === 0) for (const each of [map, model]) each.set(0, `again ${key}`);
      expect(map.size).toBe(model.size);
      expect(map.get(key - 2)).toBe(model.get(key - 2));
      expect(map.has(key - 1)).toBe(model.has(key - 1));
    }
    expect([...map.keys()]).toEqual([...model.keys()]);
    expect([...map.values()]).toEqual([...model.values()]);
  });

  it("is iterated as it was when the iteration began", () => {
    const map = new TurnoverMap<string, string>();
    for (const letter of "ab") map.set(letter, letter.toUpperCase());
    const seen: string[] = [];
    for (const value of map.values()) {
      for (let key = 0; key < additions; key += 1) map.set(`${key}`, "later");
      map.delete("b");
      seen.push(value);
    }
    expect(seen).toEqual(["A", "B"]);
  });

  it("ends a walk when its entries move, and shows a walk none that was deleted", () => {
    const map = new TurnoverMap<number, string>();
    for (const key of [1, 2, 3]) map.set(key, `v${key}`);
    const walk = map.walk();
    expect(walk.next().value).toBe("v1");
    map.delete(2);
    expect(walk.next().value).toBe("v3");
    const another = map.walk();
    for (let key = 4; key < additions; key += 1) map.set(key, "later");
    expect(another.next().done).toBe(true);
    expect(map.walk().next().value).toBe("v1");
  });

  it("leaves its entries to collections of young objects, and a Map does not", async () => {
    expect(await fullCollections("TurnoverMap")).toBeLessThanOrEqual(1);
    expect(await fullCollections("Map")).toBeGreaterThan(4);
  });
});

describe("a set for members that come and go", () => {
  it("has the members of a Set, in the same order", () => {
    const set = new TurnoverSet<number>();
    const model = new Set<number>();
    for (let member = 0; member < additions; member += 1) {
      for (const each of [set, model]) each.add(member);
      if (member % 3 > 0) expect(set.delete(member - 1)).toBe(model.delete(member - 1));
      expect(set.size).toBe(model.size);
      expect(set.has(member - 1)).toBe(model.has(member - 1));
    }
    expect([...set]).toEqual([...model]);
  });

  it("is iterated as it was when the iteration began", () => {
    const set = new TurnoverSet<string>();
    for (const letter of "ab") set.add(letter);
    const seen: string[] = [];
    for (const member of set) {
      for (let other = 0; other < additions; other += 1) set.add(`${other}`);
      set.delete("b");
      seen.push(member);
    }
    expect(seen).toEqual(["a", "b"]);
  });

  it("ends a walk when its members move, and shows a walk none that was deleted", () => {
    const set = new TurnoverSet<number>();
    for (const member of [1, 2, 3]) set.add(member);
    const walk = set.walk();
    expect(walk.next().value).toBe(1);
    set.delete(2);
    expect(walk.next().value).toBe(3);
    const another = set.walk();
    expect(another.next().value).toBe(1);
    for (let member = 4; member < additions; member += 1) set.add(member);
    expect(another.next().done).toBe(true);
    expect(set.walk().next().value).toBe(1);
  });
});
