import { describe, expect, it } from "vitest";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../../api/rules/keys.ts";
import { causeOf } from "../../../api/rules/suspension.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { type InterceptedCall, interceptCalls } from "../../../test/support/fakes/intercepted-client.ts";
import { openSleepLab } from "../../../test/support/labs/sleep-lab.ts";

const annotationsIn = ({ kind, verb, body }: InterceptedCall): Readonly<Record<string, unknown>> => {
  if (kind !== "Sandbox" || verb !== "patch") return {};
  return (body as { metadata?: { annotations?: Readonly<Record<string, unknown>> } }).metadata?.annotations ?? {};
};

/** The writes of a suspension by inactivity, in their order. */
const writes: readonly { readonly name: string; readonly is: (call: InterceptedCall) => boolean }[] = [
  { name: "the intent", is: (call) => typeof annotationsIn(call)[suspensionCauseAnnotation] === "string" },
  { name: "the seal", is: (call) => typeof annotationsIn(call)[sealedPodAnnotation] === "string" },
  { name: "the deletion", is: ({ verb, kind }) => verb === "delete" && kind === "Pod" },
  { name: "taking the seal off", is: (call) => annotationsIn(call)[sealedPodAnnotation] === null },
  {
    name: "the status",
    is: ({ subresource, body }) => subresource === "status" && JSON.stringify(body).includes('"PodTerminated"'),
  },
];

const points = writes.flatMap(({ name, is }) => [
  { when: "before", name, is },
  { when: "after", name, is },
]);

/**
 * Lets the time of the controllers pass until the state is reached. It stands still while this process gets no processor: a controller
 * takes that for a pause, and puts suspensions off.
 */
const asTheyRun = (clock: FakeClock, reached: () => unknown): Promise<void> =>
  eventually(async () => {
    await clock.advance(100);
    return reached();
  }, 20_000);

describe("a controller that is killed in the middle of a suspension", () => {
  it.each(points)("$when $name: the next one completes it, once", async ({ when, is }) => {
    await using lab = await openSleepLab();
    const clock = new FakeClock(systemClock.now());
    let dead = false;
    const killed = Promise.withResolvers<never>();
    killed.promise.catch(() => {}); // the call may have ended by then
    const dying = interceptCalls(lab.client, async (call, proceed) => {
      if (dead) return killed.promise;
      if (!is(call)) return proceed();
      dead = true;
      if (when === "after") await proceed();
      return killed.promise;
    });
    {
      await using _first = await lab.startController({ client: dying, clock });
      await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 1 } });
      await asTheyRun(clock, () => dead);
      killed.reject(new Error("the controller is dead"));
    }
    await using _second = await lab.startController({ clock });
    const asleep = await lab.untilAsleep(clock);
    expect(causeOf(asleep)).toBe("Inactivity");
    expect(asleep.metadata.annotations).not.toHaveProperty(sealedPodAnnotation);
    expect(asleep.metadata.generation).toBe(2);
    expect(await lab.pod()).toBeUndefined();
  });
});

describe("two controllers that both believe that they lead", () => {
  it("put a sandbox to sleep together as one would, and let it be woken", async () => {
    await using lab = await openSleepLab();
    const clock = new FakeClock(systemClock.now());
    await using _first = await lab.startController({ clock });
    await using _second = await lab.startController({ clock });
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 1 } });
    const before = await lab.untilReady();
    const asleep = await lab.untilAsleep(clock);
    expect(causeOf(asleep)).toBe("Inactivity");
    await lab.change({ operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 100 } });
    await asTheyRun(clock, async () => (await lab.pod())?.status?.phase === "Running");
    const after = await lab.untilReady();
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    await asTheyRun(clock, async () => (await lab.sandbox()).metadata.annotations?.[sealedPodAnnotation] === undefined);
  });
});
