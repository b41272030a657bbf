import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openAgentWorld, ShiftedClock } from "../../test/support/labs/agent-world.ts";
import { startLabAgent } from "../../test/support/labs/mortal-agent.ts";
import { stateOf } from "../../test/support/labs/node-lab.ts";

type World = Awaited<ReturnType<typeof openAgentWorld>>;

/** runsc was killed while it wrote the state file. */
function tear({ lab, pod }: World, agoMs = 60_000): void {
  const path = join(lab.runsc.root, `${pod.id}_sandbox:${pod.id}.state`);
  writeFileSync(path, '{"status":"pau');
  const at = new Date(Date.now() - agoMs);
  utimesSync(path, at, at);
}

const untilEnded = ({ pod }: World) => vi.waitFor(() => expect(stateOf(pod.sentry)).toMatch(/^Z?$/), 5_000);

it.each(["the same agent", "the next agent"])(
  "a captured Pod whose state file is torn is ended once it is deleted: by %s",
  async (who) => {
    await using world = await openAgentWorld();
    await world.capture();
    tear(world);
    await world.settle();
    expect(stateOf(world.pod.sentry), "nobody has deleted it").toBe("T");
    const { settle } = who === "the same agent" ? world : startLabAgent(world.lab, world.api);
    world.api.setPods();
    await settle();
    await untilEnded(world);
  },
);

it("a Pod whose failed capture has left a torn state file is ended: nobody knows whether it runs", async () => {
  await using world = await openAgentWorld();
  using _ = world.lab.letFail("checkpoint", "fails");
  using __ = world.lab.letFail("resume", "fails");
  await world.capture().catch(() => undefined);
  expect(stateOf(world.pod.sentry)).toBe("T");
  tear(world);
  const { settle } = startLabAgent(world.lab, world.api);
  await settle();
  await untilEnded(world);
});

it("a state file that is being written is read at the next look, and harms no Pod", async () => {
  const clock = new ShiftedClock();
  await using world = await openAgentWorld({ clock });
  tear(world, 0);
  await world.settle();
  expect(world.api.image?.status?.preflight).toMatchObject({ reason: "NotGvisor" });
  clock.aheadMs = 2_000;
  await world.settle();
  expect(world.api.image?.status?.preflight).toMatchObject({ reason: "StateUnreadable" });
  expect(stateOf(world.pod.sentry)).not.toMatch(/^[TZ]?$/);
});
