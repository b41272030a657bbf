import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { type Attempt, ProbeBudget, type ProbeLease, probeLimits } from "./probe-budget.ts";

const one: Attempt = { count: 1, isFirst: false };
const never = new AbortController().signal;
const limits = { rate: { perSecond: 100, burst: 10 }, openMax: 100, openOfNamespaceMax: 40 };

interface World {
  readonly clock: FakeClock;
  readonly budget: ProbeBudget;
  /** Namespaces in the order of their turns. */
  readonly turns: string[];
  readonly leases: ProbeLease[];
  /** Asks for that many turns. Their connections stay open, unless they are to be closed at once. */
  want(namespace: string, turns: number, options?: { readonly open?: boolean } & Partial<Attempt>): void;
}

function openBudget(changes: Partial<typeof limits> = {}): World {
  const clock = new FakeClock();
  const budget = new ProbeBudget(clock, { ...limits, ...changes });
  const turns: string[] = [];
  const leases: ProbeLease[] = [];
  const took = (namespace: string, lease: ProbeLease, open: boolean) => {
    turns.push(namespace);
    if (open) leases.push(lease);
    else lease[Symbol.dispose]();
  };
  return {
    ...{ clock, budget, turns, leases },
    want(namespace, wanted, { count = 1, isFirst = false, open = false } = {}) {
      for (let at = 0; at < wanted; at += 1) {
        void budget.take(namespace, { count, isFirst }, never).then((lease) => took(namespace, lease, open));
      }
    },
  };
}

const turnsOf = ({ turns }: World, namespace: string) => turns.filter((each) => each === namespace).length;

describe("the budget of probing", () => {
  it("begins 100 connections at once, and 1000 per second after them", async () => {
    const world = openBudget(probeLimits);
    world.want("a", 1_000);
    await world.clock.advance(0);
    expect(world.turns).toHaveLength(100);
    await world.clock.advance(500);
    expect(world.turns).toHaveLength(600);
  });

  it("delays no attempt while it suffices, and sets no timer", async () => {
    const world = openBudget();
    for (let round = 1; round <= 20; round += 1) {
      world.want("a", 3);
      await world.clock.advance(0);
      expect(world.turns).toHaveLength(round * 3);
      expect(world.clock.pending).toBe(0);
      await world.clock.advance(30);
    }
  });

  it("gives no more turns per second than its rate", async () => {
    const world = openBudget();
    world.want("a", 1_000);
    await world.clock.advance(1_000);
    expect(world.turns.length).toBeGreaterThan(105);
    expect(world.turns.length).toBeLessThanOrEqual(111);
    await world.clock.advance(1_000);
    expect(world.turns.length).toBeLessThanOrEqual(211);
  });

  it("counts each connection of an attempt, also one added later", async () => {
    const world = openBudget();
    world.want("a", 1_000, { count: 10 });
    await world.clock.advance(1_000);
    expect(world.turns.length).toBeLessThanOrEqual(12);
    const adding = openBudget({ rate: { perSecond: 100, burst: 1 } });
    (await adding.budget.take("a", one, never)).add();
    adding.want("a", 1);
    await adding.clock.advance(19);
    expect(adding.turns).toEqual([]);
    await adding.clock.advance(2);
    expect(adding.turns).toEqual(["a"]);
  });

  it("gives a later namespace as many connections as one with hundreds of attempts", async () => {
    const world = openBudget();
    world.want("many", 500);
    await world.clock.advance(1_000);
    const before = turnsOf(world, "many");
    world.want("few", 20);
    await world.clock.advance(400);
    expect(turnsOf(world, "few")).toBeGreaterThanOrEqual(19);
    expect(turnsOf(world, "many") - before).toBeGreaterThanOrEqual(19);
  });

  it("lets a single wake probe every 2 ms beside a namespace that uses the whole budget", async () => {
    const world = openBudget(probeLimits);
    world.want("many", 5_000);
    await world.clock.advance(500);
    for (let attempt = 1; attempt <= 100; attempt += 1) {
      world.want("wakes", 1);
      await world.clock.advance(2);
    }
    expect(turnsOf(world, "wakes")).toBeGreaterThanOrEqual(98);
  });

  it("shares by connections and not by attempts", async () => {
    const world = openBudget();
    world.want("dear", 100, { count: 9 });
    world.want("cheap", 500);
    await world.clock.advance(2_000);
    expect(turnsOf(world, "cheap")).toBeGreaterThan(85);
    expect(turnsOf(world, "dear") * 9).toBeGreaterThan(85);
  });

  it.each([
    { what: "comes after others", waitsMs: 0, turnsOfOther: 6 },
    { what: "comes in turns with others once the budget is full again", waitsMs: 90, turnsOfOther: 3 },
  ])("a namespace that has used more $what", async ({ waitsMs, turnsOfOther }) => {
    const world = openBudget();
    world.want("used", 1, { count: 9 });
    await world.clock.advance(waitsMs);
    const { rate } = limits;
    world.want("all", 1, { count: waitsMs === 0 ? 1 : rate.burst }); // what is left
    await world.clock.advance(0);
    world.turns.length = 0;
    for (const namespace of ["used", "other"]) world.want(namespace, 20);
    await world.clock.advance(60);
    expect(turnsOf(world, "other")).toBe(turnsOfOther);
  });

  it("prefers a new port over the retries of its namespace", async () => {
    const world = openBudget();
    world.want("a", 500);
    await world.clock.advance(100);
    const first = world.budget.take("a", { count: 1, isFirst: true }, never);
    await world.clock.advance(20);
    (await first)[Symbol.dispose]();
    expect(world.turns.length).toBeLessThan(30);
  });

  it("bounds the open connections of a namespace, and leaves places for others", async () => {
    const world = openBudget({ rate: { perSecond: 10_000, burst: 1_000 } });
    for (const namespace of ["a", "b", "c"]) world.want(namespace, 500, { open: true });
    await world.clock.advance(1_000);
    expect(turnsOf(world, "a")).toBe(40);
    expect(world.budget.open).toBeLessThan(100);
    world.want("d", 1, { open: true });
    await world.clock.advance(1);
    expect(turnsOf(world, "d")).toBe(1);
    const before = world.turns.length;
    for (const lease of world.leases.splice(0, 10)) lease[Symbol.dispose]();
    await world.clock.advance(1_000);
    expect(world.turns.length).toBeGreaterThan(before + 5);
    expect(world.budget.open).toBeLessThan(100);
  });

  it("saves up no turns for a namespace whose connections were all open", async () => {
    const world = openBudget({ openOfNamespaceMax: 5 });
    world.want("hangs", 500, { open: true });
    world.want("works", 500);
    await world.clock.advance(3_000);
    const [hung, worked] = [turnsOf(world, "hangs"), turnsOf(world, "works")];
    world.want("works", 500);
    for (let at = 0; at < 100; at += 1) {
      world.leases.shift()?.[Symbol.dispose]();
      await world.clock.advance(10);
    }
    expect(turnsOf(world, "hangs")).toBeGreaterThan(hung);
    expect(turnsOf(world, "works") - worked).toBeGreaterThan(40);
  });

  it("gives no turn to cancelled attempts, and is empty after all have left", async () => {
    const world = openBudget();
    world.want("a", 10, { open: true });
    const leaving = new AbortController();
    const left = world.budget.take("a", one, leaving.signal);
    const stays = world.budget.take("a", one, never);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await expect(world.budget.take("a", one, leaving.signal)).rejects.toThrow("left");
    await world.clock.advance(20);
    (await stays)[Symbol.dispose]();
    for (const lease of world.leases) lease[Symbol.dispose]();
    expect([world.budget.waiting, world.budget.open]).toEqual([0, 0]);
    expect(world.clock.pending).toBe(0);
  });
});
