import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiGate } from "../sleep/api-gate.ts";
import { answeredOnce } from "../sleep/promises.ts";
import { TestBed } from "../sleep/test-bed.ts";

const outageMs = 30_000;
let bed: TestBed;
beforeAll(async () => {
  // A busy machine loses shorter leases again and again, and nothing is suspended meanwhile.
  bed = await TestBed.open({ controllers: 2, activators: 2, leaseSeconds: 10 });
});
afterAll(() => bed[Symbol.asyncDispose]());

const allPrograms = () => [...bed.controllers, ...bed.activators].map(({ gate }) => gate);
const oneActivator = () => bed.activators.slice(0, 1).map(({ gate }) => gate);
const controllers = () => bed.controllers.map(({ gate }) => gate);

describe.each([
  { how: "refuses", cut: (gate: ApiGate) => gate.refuse() },
  { how: "hangs", cut: (gate: ApiGate) => gate.hang() },
])("an API server that $how for 30 s around the deadline", ({ how, cut }) => {
  it.each([
    { whom: "all programs", gates: allPrograms },
    { whom: "the controllers", gates: controllers },
    { whom: "one activator", gates: oneActivator },
  ])("fails no request if it affects $whom, and all sandboxes are suspended after it", async ({ whom, gates }) => {
    const { ledger } = bed.node;
    const name = `${how}-${whom.replaceAll(" ", "-")}`;
    const autoSuspension = { inactivityTimeoutSeconds: 2 };
    const used = `${name}-used`;
    const asleep = `${name}-asleep`;
    await bed.create(asleep, { autoSuspension, operatingMode: "Suspended" });
    await bed.create(used, { autoSuspension });
    await bed.untilAsleep(asleep);
    const [first, second] = bed.activators;
    if (!first || !second) throw new Error("two activators were asked for");
    await answeredOnce(first, ledger, { sandbox: used });
    await delay(1_500);

    const cuts = gates();
    await Promise.all(cuts.map(cut));
    const began = performance.now();
    // The sandbox is running, suspended or in between; these requests are answered in each case.
    const answers: Promise<unknown>[] = [];
    for (const by of [first, second]) {
      answers.push(answeredOnce(by, ledger, { sandbox: used, body: "during" }));
      answers.push(answeredOnce(by, ledger, { sandbox: asleep, body: "held" }));
    }
    while (performance.now() - began < outageMs) {
      await delay(1_000);
      answers.push(answeredOnce(first, ledger, { sandbox: used }), answeredOnce(second, ledger, { sandbox: used }));
    }
    await Promise.all(cuts.map((gate) => gate.open()));
    await Promise.all(answers);
    await Promise.all([bed.untilAsleep(used, 60_000), bed.untilAsleep(asleep, 60_000)]);
    expect(bed.node.size).toBe(0);
  });
});
