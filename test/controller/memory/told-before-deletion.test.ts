import { expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { type InterceptedCall, interceptCalls } from "../../support/fakes/intercepted-client.ts";
import { killedAt } from "../../support/fakes/killed-client.ts";
import { flags, images, kept, metric, openRunning, untilTold } from "../../support/labs/memory-lab.ts";
import { waiting } from "../../support/labs/sleep-lab.ts";

const deletesPod = ({ verb, kind, name }: InterceptedCall) => verb === "delete" && kind === "Pod" && name === "nova";
const tells = ({ subresource, body }: InterceptedCall) =>
  subresource === "status" && JSON.stringify(body ?? {}).includes("Hibernated");

const calls = [
  { what: "it tells of the memory", is: tells },
  { what: "it deletes the captured Pod", is: deletesPod },
];

it.each(calls.flatMap(({ what, is }) => (["before", "after"] as const).map((when) => ({ when, what, is }))))(
  "killed $when $what: the next controller has the memory, also if a wake came first",
  async ({ when, is }) => {
    await using running = await openRunning();
    const { lab, controller, pod } = running;
    await controller[Symbol.asyncDispose]();
    const dying = killedAt(lab.client, when, is);
    {
      await using _first = await lab.startController({ flags, client: dying.client });
      await lab.change({ operatingMode: "Suspended" });
      await dying.untilDead();
    }
    await lab.change({ operatingMode: "Running" });
    await using _second = await lab.startController({ flags });
    await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
    expect((await lab.pod())?.metadata.uid).not.toBe(pod.metadata.uid);
  },
);

it("a captured Pod is not deleted before the status tells of its memory", async () => {
  await using running = await openRunning();
  const { lab, controller } = running;
  await controller[Symbol.asyncDispose]();
  const told: unknown[] = [];
  const client = interceptCalls(lab.client, async (call, proceed) => {
    if (deletesPod(call)) told.push((await lab.sandbox()).status?.hibernation);
    return proceed();
  });
  await using _second = await lab.startController({ flags, client });
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  expect(told).toEqual([kept]);
});

it("a captured Pod waits while the status cannot be written, and its memory is kept", async () => {
  await using running = await openRunning();
  const { lab, agent, controller } = running;
  await controller[Symbol.asyncDispose]();
  let failures = 3;
  const client = interceptCalls(lab.client, async (call, proceed) => {
    if (!tells(call) || failures === 0) return proceed();
    failures -= 1;
    throw new Error("the status cannot be written");
  });
  await using _second = await lab.startController({ flags, client });
  await lab.change({ operatingMode: "Suspended" });
  expect((await lab.untilAsleep()).status?.hibernation).toEqual(kept);
  expect([failures, agent.captured.length]).toEqual([0, 1]);
  expect(await lab.eventNotes("MemoryNotKept")).toEqual([]);
});

it("memory that no status has told of is not used, and the wake tells it with an event and the metric", async () => {
  await using running = await openRunning();
  const { lab, controller, pod } = running;
  await controller[Symbol.asyncDispose]();
  const dying = killedAt(lab.client, "before", tells);
  {
    await using _first = await lab.startController({ flags, client: dying.client });
    await lab.change({ operatingMode: "Suspended" });
    await dying.untilDead();
  }
  // Somebody else deletes the captured Pod, and the sandbox is to run, before the next controller has come.
  await lab.client.delete(podType, { namespace: "default", name: "nova" }, {});
  await vi.waitFor(async () => expect(await lab.pod()).toBeUndefined(), waiting);
  await lab.change({ operatingMode: "Running" });
  await using second = await lab.startController({ flags });
  await untilTold(lab, { lastWake: { mode: "Anew", reason: "NotRecorded" } });
  const next = await lab.untilReady();
  const own = async () => expect((await images(lab)).map(({ spec }) => spec.podUID)).toEqual([next.metadata.uid]);
  await vi.waitFor(own, waiting);
  expect(next.metadata.uid).not.toBe(pod.metadata.uid);
  await vi.waitFor(async () => expect(await lab.eventNotes("MemoryLost")).toHaveLength(1), waiting);
  const series = 'rouse_hibernation_wakes_total{mode="Anew",reason="NotRecorded"}';
  expect(metric(await second.metrics(), series)).toBe(1);
  expect((await lab.sandbox()).status?.hibernation?.lastWake?.podUID).toBe(next.metadata.uid);
});
