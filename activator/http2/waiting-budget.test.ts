import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { iterationSteps } from "../../test/support/fakes/iteration-steps.ts";
import { Sweep } from "../sweep.ts";
import { WaitingBudget, type WaitingStream } from "./waiting-budget.ts";

interface Stream extends WaitingStream {
  waitingBytes: number;
  passedBytes: number;
}

/** A budget of so many bytes, and the names of the streams that were shed. */
function openBudget(sparedMs = 0, bytesMax = 1_000) {
  const shed: string[] = [];
  const seen = { cuts: 0, looks: 0 };
  const sweep = new Sweep(new FakeClock());
  const budget = new WaitingBudget({ stalledCut: () => (seen.cuts += 1) }, sweep, { bytesMax, sparedMs });
  const keep = (name: string, namespace: string, connection: object, waitingBytes: number): Stream => {
    const stream = {
      ...{ namespace, connection, passedBytes: 0 },
      bytes: waitingBytes,
      get waitingBytes() {
        seen.looks += 1;
        return this.bytes;
      },
      set waitingBytes(bytes) {
        this.bytes = bytes;
      },
      shed: () => void shed.push(name),
    };
    budget.watch(stream);
    return stream;
  };
  return { budget, sweep, shed, keep, seen };
}

describe("a budget for what waits on streams", () => {
  it("takes streams of the namespace with most, and there of the connection with most", () => {
    const { budget, shed, keep, seen } = openBudget();
    const [quiet, greedy, other] = [{}, {}, {}];
    keep("quiet", "a", quiet, 400);
    keep("other", "b", other, 240);
    for (let at = 0; at < 3; at += 1) keep(`greedy ${at}`, "b", greedy, 130);
    budget.check(0);
    expect([shed, seen.cuts, budget.bytes]).toEqual([["greedy 0"], 1, 900]);
  });

  it("takes the stream that has stood still for longest", () => {
    const { budget, shed, keep } = openBudget();
    const connection = {};
    const moving = keep("moving", "a", connection, 400);
    keep("still", "a", connection, 400);
    budget.check(0);
    moving.passedBytes = 1;
    budget.check(0);
    keep("new", "a", connection, 400);
    budget.check(0);
    expect(shed).toEqual(["still"]);
  });

  it("spares streams that have moved lately, unless four times as much waits", () => {
    const { budget, shed, keep } = openBudget(10_000);
    const connection = {};
    const slow = keep("slow", "a", connection, 900);
    budget.check(0);
    keep("other", "a", connection, 900);
    budget.check(5_000);
    slow.passedBytes = 1;
    budget.check(9_000);
    budget.check(14_999);
    expect(shed).toEqual([]);
    budget.check(15_000);
    expect(shed).toEqual(["other"]);
    for (let more = 0; more < 4; more += 1) keep(`${more}`, "a", connection, 900);
    budget.check(15_000);
    expect(shed).toEqual(["other", "slow"]);
  });

  it("forgets a stream that was released, and looks no more at one on which nothing waits", () => {
    const { budget, sweep, shed, keep, seen } = openBudget();
    const [one, two] = [keep("one", "a", {}, 900), keep("two", "a", {}, 900)];
    budget.release(one);
    budget.release(one);
    budget.check(0);
    expect([budget.bytes, sweep.size]).toEqual([900, 1]);
    two.waitingBytes = 0;
    budget.check(0);
    expect([budget.bytes, sweep.size, shed]).toEqual([0, 0, []]);
    budget.watch(two);
    seen.looks = 0;
    budget.check(0);
    budget.check(0);
    expect([seen.looks, sweep.size]).toEqual([1, 0]);
  });

  it("looks once at each stream in a step, however many owners have too much and move", () => {
    const { budget, shed, keep, seen } = openBudget(10_000);
    const count = 500;
    for (let at = 0; at < count; at += 1) keep(`${at}`, `${at % 50}`, {}, 5);
    budget.check(0);
    seen.looks = 0;
    const steps = iterationSteps(() => budget.check(100));
    expect([shed, seen.looks, budget.bytes]).toEqual([[], count, 5 * count]);
    expect(steps).toBeLessThan(2 * count);
  });

  it("goes through no owners to shed many streams", () => {
    const { budget, shed, keep } = openBudget();
    const count = 500;
    for (let at = 0; at < count; at += 1) keep(`${at}`, `${at % 50}`, {}, 5);
    const steps = iterationSteps(() => budget.check(0));
    expect(shed.length).toBe(count - 1_000 / 5);
    expect(steps).toBeLessThan(2 * count);
  });
});
