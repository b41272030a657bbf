import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import type { ControllerReplica } from "../sleep/controller-replica.ts";
import { phases } from "../sleep/phases.ts";
import { answeredOnce } from "../sleep/promises.ts";
import { strike } from "../sleep/strike.ts";
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

/** It sleeps as if nothing had happened, and the next request wakes it. */
async function expectSoundSleep(name: string): Promise<void> {
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

describe.each([{ requests: 0 }, { requests: 2 }])("with $requests requests at that moment", ({ requests }) => {
  const ask = (name: string) =>
    Promise.all(
      bed.activators.slice(0, requests).map((by) => answeredOnce(by, bed.node.ledger, { sandbox: name, body: "now" })),
    );

  it.each(phases)("a controller that is killed $about loses nothing", async (phase) => {
    const name = aName();
    const struck = strike(bed, phase, name, async (leader) => leader.program.kill());
    await bed.create(name, { autoSuspension: { inactivityTimeoutSeconds: 1 } });
    await struck;
    await ask(name);
    await expectSoundSleep(name);
  });

  it.each(phases)("a controller that is stopped past its lease $about, and goes on, loses nothing", async (phase) => {
    const name = aName();
    const answers = Promise.withResolvers<unknown>();
    const struck = strike(bed, phase, name, async (leader) => {
      leader.program.pause();
      answers.resolve(ask(name));
      // Meanwhile the other one takes over; what this one has sent arrives after that.
      await untilLedBy((now) => now !== leader);
      setTimeout(() => leader.program.goOn(), 200);
    });
    await bed.create(name, { autoSuspension: { inactivityTimeoutSeconds: 1 } });
    await struck;
    await answers.promise;
    await expectSoundSleep(name);
  });
});
