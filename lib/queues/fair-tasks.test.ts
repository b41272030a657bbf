import { describe, expect, it } from "vitest";
import { FairTasks, type FairTasksLimits } from "./fair-tasks.ts";

function given(limits: Partial<FairTasksLimits> = {}) {
  const tasks = new FairTasks({ max: 3, maxOfGroup: 2, ...limits });
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const add = (group: string, ...names: readonly string[]) => {
    for (const name of names) {
      tasks.add(group, `${group}/${name}`, () => {
        started.push(`${group}/${name}`);
        const end = Promise.withResolvers<void>();
        ends.set(`${group}/${name}`, end);
        return end.promise;
      });
    }
  };
  const end = async (key: string, error?: Error) => {
    if (error) ends.get(key)?.reject(error);
    else ends.get(key)?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { tasks, started, add, end };
}

describe("tasks of several groups", () => {
  it("run at once up to the limits, in all and of each group", () => {
    const { tasks, started, add } = given();
    add("a", "1", "2", "3");
    add("b", "1", "2");
    expect(started).toEqual(["a/1", "a/2", "b/1"]);
    expect(tasks.running).toBe(3);
  });

  it("take turns by group, however many of one group wait", async () => {
    const { started, add, end } = given();
    add("a", "1", "2", "3", "4");
    add("b", "1");
    add("c", "1", "2");
    await end("a/1");
    expect(started.slice(3)).toEqual(["a/3"]);
    await end("b/1");
    expect(started.slice(4)).toEqual(["c/1"]);
    await end("a/2");
    expect(started.slice(5)).toEqual(["a/4"]);
    await end("a/3");
    expect(started.slice(6)).toEqual(["c/2"]);
  });

  it("of a group that came while the only task of another ran start before its next one", async () => {
    const { started, add, end } = given({ max: 1, maxOfGroup: 1 });
    add("a", "1", "2", "3");
    add("b", "1", "2");
    await end("a/1");
    add("c", "1");
    await end("b/1");
    expect(started).toEqual(["a/1", "b/1", "a/2"]);
    add("d", "1");
    await end("a/2");
    await end("c/1");
    await end("b/2");
    await end("d/1");
    expect(started.slice(3)).toEqual(["c/1", "b/2", "d/1", "a/3"]);
  });

  it("run first for the group that has used least", async () => {
    const used = new Map([
      ["a", 100],
      ["b", 20],
      ["c", 0],
    ]);
    const { started, add, end } = given({ max: 1, usedBy: (group) => used.get(group) ?? 0 });
    add("a", "1", "2");
    add("b", "1", "2");
    add("c", "1");
    await end("a/1");
    expect(started.slice(1)).toEqual(["c/1"]);
    await end("c/1");
    used.set("b", 200);
    await end("b/1");
    expect(started.slice(2)).toEqual(["b/1", "a/2"]);
  });

  it("run first for the group of the lowest rank, whatever it has used", async () => {
    const usedBy = (group: string) => (group === "a" ? 100 : 0);
    const { started, add, end } = given({ max: 1, usedBy, rankOf: (group) => (group === "a" ? 0 : 1) });
    add("b", "1", "2");
    add("a", "1", "2");
    await end("b/1");
    await end("a/1");
    await end("a/2");
    expect(started).toEqual(["b/1", "a/1", "a/2", "b/2"]);
  });

  it("go on after a failure", async () => {
    const { started, add, end } = given();
    add("a", "1", "2", "3");
    await end("a/1", new Error("refused"));
    expect(started).toEqual(["a/1", "a/2", "a/3"]);
  });

  it("are there once for each key, while it waits and while it runs", async () => {
    const { started, add, end } = given();
    add("a", "1", "1", "2", "3", "3");
    await end("a/1");
    await end("a/2");
    await end("a/3");
    expect(started).toEqual(["a/1", "a/2", "a/3"]);
    add("a", "1");
    expect(started).toHaveLength(4);
  });

  it("are forgotten when they are dropped before their turn", async () => {
    const { tasks, started, add, end } = given();
    add("a", "1", "2", "3");
    tasks.drop("a", "a/3");
    await end("a/1");
    expect(started).toEqual(["a/1", "a/2"]);
  });
});
