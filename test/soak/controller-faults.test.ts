import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import type { ControllerReplica } from "../sleep/controller-replica.ts";
import { injectFault } from "../sleep/inject-fault.ts";
import { phases } from "../sleep/phases.ts";
import { answeredOnce } from "../sleep/promises.ts";
import { TestBed } from "../sleep/test-bed.ts";
import { eventually } from "../support/eventually.ts";

let bed: TestBed;
beforeAll(async () => {
  bed = await TestBed.open({ controllers: 2, activators: 2 });
});
afterAll(() => bed[Symbol.asyncDispose]());

async function untilLedBy(other: (leader: ControllerReplica) => boolean): Promise<void> {
  await eventually(async () => other(await bed.leader()), 30_000);
}

/** The suspension completes, and the next request wakes the sandbox. */
async function expectSleepAndWake(name: string): Promise<void> {
  await bed.untilAsleep(name, 60_000);
  expect((await bed.sandbox(name)).metadata.annotations).not.toHaveProperty(sealedPodAnnotation);
  const [, second] = bed.activators;
  if (second) await answeredOnce(second, bed.node.ledger, { sandbox: name, body: "the next one" });
}

let count = 0;
const aName = () => {
  count += 1;
  return `nova-${count}`;
};

describe.each([{ requests: 0 }, { requests: 2 }])("with $requests requests at that time", ({ requests }) => {
  const ask = (name: string) =>
    Promise.all(
      bed.activators.slice(0, requests).map((by) => answeredOnce(by, bed.node.ledger, { sandbox: name, body: "now" })),
    );

  it.each(phases)("killing a controller $about loses no request and no suspension", async (phase) => {
    const name = aName();
    const injected = injectFault(bed, phase, name, async (leader) => leader.program.kill());
    await bed.create(name, { autoSuspension: { inactivityTimeoutSeconds: 1 } });
    await injected;
    await ask(name);
    await expectSleepAndWake(name);
  });

  it.each(phases)("pausing a controller past its lease $about loses no request and no suspension", async (phase) => {
    const name = aName();
    const answers = Promise.withResolvers<unknown>();
    const injected = injectFault(bed, phase, name, async (leader) => {
      leader.program.pause();
      answers.resolve(ask(name));
      // Meanwhile the other controller takes over. The calls of the paused one arrive after that.
      await untilLedBy((now) => now !== leader);
      setTimeout(() => leader.program.goOn(), 200);
    });
    await bed.create(name, { autoSuspension: { inactivityTimeoutSeconds: 1 } });
    await injected;
    await answers.promise;
    await expectSleepAndWake(name);
  });
});
