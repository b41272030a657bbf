import { describe, expect, it } from "vitest";
import { AdoptionQueues } from "./adoption-queue.ts";

const pool = "lab/pool";

function queuesWith(...candidates: readonly (readonly [key: string, nodeName?: string])[]): AdoptionQueues {
  const queues = new AdoptionQueues();
  for (const [key, nodeName = ""] of candidates) queues.add(pool, { key, nodeName });
  return queues;
}

function takeAll(queues: AdoptionQueues, from = pool): readonly string[] {
  const keys: string[] = [];
  for (let taken = queues.take(from); taken; taken = queues.take(from)) keys.push(taken.key);
  return keys;
}

describe("the queue of a pool", () => {
  it("holds a candidate once, keeps its place, and updates its node", () => {
    const queues = queuesWith(["a"], ["b"], ["a", "node-1"]);
    expect(queues.size(pool)).toBe(2);
    expect(queues.take(pool)).toMatchObject({ key: "a", nodeName: "node-1" });
    expect(takeAll(queues)).toEqual(["b"]);
  });

  it("never returns a removed candidate", () => {
    const queues = queuesWith(["a"], ["b"]);
    queues.remove(pool, "a");
    expect(takeAll(queues)).toEqual(["b"]);
  });

  it("is empty once it was dropped", () => {
    const queues = queuesWith(["a"]);
    queues.drop(pool);
    expect(queues.take(pool)).toBeUndefined();
  });

  it("gives each candidate to one of two concurrent callers", () => {
    const queues = queuesWith(["a", "node-1"], ["b", "node-1"]);
    const [one, other] = [queues.take(pool), queues.take(pool)];
    expect([one?.key, other?.key]).toEqual(["a", "b"]);
  });

  it("is separate from that of a pool of the same name in another namespace", () => {
    const queues = queuesWith(["a"]);
    queues.add("other/pool", { key: "b", nodeName: "" });
    queues.drop(pool);
    expect(takeAll(queues, "other/pool")).toEqual(["b"]);
  });

  it.each([
    {
      case: "the fullest node first, and its oldest",
      given: [
        ["a", "n1"],
        ["b", "n2"],
        ["c", "n2"],
      ],
      first: "b",
    },
    { case: "of equal nodes the one with the oldest", given: [["a"], ["b", "n2"], ["c", "n1"]], first: "b" },
    { case: "one with a node before one without", given: [["a"], ["b"], ["c", "n1"]], first: "c" },
    { case: "the oldest where none has a node", given: [["a"], ["b"]], first: "a" },
    { case: "the oldest of a node, whenever it came there", given: [["a"], ["b", "n1"], ["a", "n1"]], first: "a" },
  ] as const)("gives $case", ({ given, first }) => {
    expect(queuesWith(...given).take(pool)?.key).toBe(first);
  });

  it("gives a candidate that was put back its old place", () => {
    const queues = queuesWith(["a"], ["b"]);
    const taken = queues.take(pool);
    queues.add(pool, { key: "c", nodeName: "" });
    if (taken) queues.putBack(pool, taken);
    expect(takeAll(queues)).toEqual(["a", "b", "c"]);
  });

  it("keeps the state from a later event of a candidate that is put back", () => {
    const queues = queuesWith(["a"]);
    const taken = queues.take(pool);
    queues.add(pool, { key: "a", nodeName: "node-1" });
    if (taken) queues.putBack(pool, taken);
    expect(queues.take(pool)).toMatchObject({ nodeName: "node-1" });
    expect(queues.size(pool)).toBe(0);
  });

  it("takes ten thousand from a hundred nodes in no time", () => {
    const queues = new AdoptionQueues();
    for (let at = 0; at < 10_000; at += 1) queues.add(pool, { key: `s${at}`, nodeName: "" });
    for (let at = 0; at < 10_000; at += 1) queues.add(pool, { key: `s${at}`, nodeName: `node-${at % 100}` });
    const before = process.threadCpuUsage();
    expect(new Set(takeAll(queues)).size).toBe(10_000);
    const { user, system } = process.threadCpuUsage(before);
    expect(user + system).toBeLessThan(2_000_000);
  });
});
