import { describe, expect, it } from "vitest";
import { WaitingBudget } from "./waiting-budget.ts";

/** A budget of 1,000 bytes, and the names of the streams that were shed. */
function openBudget() {
  const shed: string[] = [];
  let cuts = 0;
  const budget = new WaitingBudget({ stalledCut: () => (cuts += 1) }, 1_000);
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
    budget.keep(streamOf("quiet", "a", quiet), 400, 0);
    budget.keep(streamOf("other", "b", other), 240, 0);
    for (let at = 0; at < 3; at += 1) budget.keep(streamOf(`greedy ${at}`, "b", greedy), 130, 0);
    expect([shed, cuts(), budget.bytes]).toEqual([["greedy 0"], 1, 900]);
  });

  it("takes the stream that has stood still for longest", () => {
    const { budget, shed, streamOf } = openBudget();
    const connection = {};
    const [moving, still] = [streamOf("moving", "a", connection), streamOf("still", "a", connection)];
    budget.keep(moving, 400, 0);
    budget.keep(still, 400, 0);
    budget.keep(still, 400, 0);
    budget.keep(moving, 400, 1);
    budget.keep(streamOf("new", "a", connection), 400, 0);
    expect(shed).toEqual(["still"]);
  });

  it("forgets a stream that was released, and one for which nothing waits", () => {
    const { budget, shed, streamOf } = openBudget();
    const [one, two] = [streamOf("one", "a", {}), streamOf("two", "a", {})];
    budget.keep(one, 900, 0);
    budget.release(one);
    budget.release(one);
    budget.keep(two, 900, 0);
    budget.keep(two, 0, 900);
    expect([budget.bytes, shed]).toEqual([0, []]);
  });
});
