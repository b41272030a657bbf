import { describe, expect, it } from "vitest";
import { WaitingBudget } from "./waiting-budget.ts";

/** A budget of 1,000 bytes, and the names of the streams that were shed. */
function openBudget(sparedMs = 0) {
  const shed: string[] = [];
  let cuts = 0;
  const budget = new WaitingBudget({ stalledCut: () => (cuts += 1) }, { bytesMax: 1_000, sparedMs });
  const streamOf = (name: string, namespace: string, connection: object) => ({
    ...{ namespace, connection },
    shed: () => void shed.push(name),
  });
  return { budget, shed, streamOf, cuts: () => cuts };
}

describe("a budget for what waits on streams", () => {
  it("takes streams of the namespace with most, and there of the connection with most", () => {
    const { budget, shed, streamOf, cuts } = openBudget();
    const [quiet, greedy, other] = [{}, {}, {}];
    budget.keep(streamOf("quiet", "a", quiet), { bytes: 400, passed: 0, nowMs: 0 });
    budget.keep(streamOf("other", "b", other), { bytes: 240, passed: 0, nowMs: 0 });
    for (let at = 0; at < 3; at += 1)
      budget.keep(streamOf(`greedy ${at}`, "b", greedy), { bytes: 130, passed: 0, nowMs: 0 });
    expect([shed, cuts(), budget.bytes]).toEqual([["greedy 0"], 1, 900]);
  });

  it("takes the stream that has stood still for longest", () => {
    const { budget, shed, streamOf } = openBudget();
    const connection = {};
    const [moving, still] = [streamOf("moving", "a", connection), streamOf("still", "a", connection)];
    budget.keep(moving, { bytes: 400, passed: 0, nowMs: 0 });
    budget.keep(still, { bytes: 400, passed: 0, nowMs: 0 });
    budget.keep(still, { bytes: 400, passed: 0, nowMs: 0 });
    budget.keep(moving, { bytes: 400, passed: 1, nowMs: 0 });
    budget.keep(streamOf("new", "a", connection), { bytes: 400, passed: 0, nowMs: 0 });
    expect(shed).toEqual(["still"]);
  });

  it("spares streams that have moved lately, unless four times as much waits", () => {
    const { budget, shed, streamOf } = openBudget(10_000);
    const connection = {};
    const [slow, other] = [streamOf("slow", "a", connection), streamOf("other", "a", connection)];
    budget.keep(slow, { bytes: 900, passed: 0, nowMs: 0 });
    budget.keep(other, { bytes: 900, passed: 0, nowMs: 5_000 });
    budget.keep(slow, { bytes: 900, passed: 1, nowMs: 9_000 });
    budget.keep(other, { bytes: 900, passed: 0, nowMs: 14_999 });
    expect(shed).toEqual([]);
    budget.keep(other, { bytes: 900, passed: 0, nowMs: 15_000 });
    expect(shed).toEqual(["other"]);
    for (let more = 0; more < 4; more += 1)
      budget.keep(streamOf(`${more}`, "a", connection), { bytes: 900, passed: 0, nowMs: 15_000 });
    expect(shed).toEqual(["other", "slow"]);
  });

  it("forgets a stream that was released, and one for which nothing waits", () => {
    const { budget, shed, streamOf } = openBudget();
    const [one, two] = [streamOf("one", "a", {}), streamOf("two", "a", {})];
    budget.keep(one, { bytes: 900, passed: 0, nowMs: 0 });
    budget.release(one);
    budget.release(one);
    budget.keep(two, { bytes: 900, passed: 0, nowMs: 0 });
    budget.keep(two, { bytes: 0, passed: 900, nowMs: 0 });
    expect([budget.bytes, shed]).toEqual([0, []]);
  });
});
