import { expect, it, vi } from "vitest";
import { leaseType } from "../../api/kinds/core.ts";
import type { Trouble } from "../../kube/informer/informer.ts";
import { LeadershipLost, startLeaderElection } from "../../kube/leader/leader-election.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { waiting } from "../../test/support/waiting.ts";
import { failureLimitMs, refusalLimitMs, StoreHealth } from "./store-health.ts";

function aStore(kind: string, clock: FakeClock) {
  const filled = Promise.withResolvers<void>();
  let trouble: { readonly is: Trouble["is"]; readonly sinceMs: number } | undefined;
  let silentSinceMs: number | undefined;
  return {
    kind,
    synced: filled.promise,
    fill: () => filled.resolve(),
    silentMs: () => (silentSinceMs === undefined ? 0 : clock.ticksMs() - silentSinceMs),
    trouble: () => trouble && { is: trouble.is, forMs: clock.ticksMs() - trouble.sinceMs },
    fails(is: Trouble["is"]) {
      trouble = { is, sinceMs: clock.ticksMs() };
      silentSinceMs ??= clock.ticksMs();
    },
    recovers() {
      trouble = undefined;
      silentSinceMs = undefined;
    },
  };
}

async function open() {
  const clock = new FakeClock();
  const api = await openMemoryApi();
  const pods = aStore("Pod", clock);
  const templates = aStore("SandboxTemplate", clock);
  const parts = { clock, log: silentLogger, elects: true, converts: true };
  const health = new StoreHealth({ ...parts, core: [pods], extensions: [templates] });
  const stop = new AbortController();
  let isFit = false;
  void health.untilFit(stop.signal).then(() => {
    isFit = !stop.signal.aborted;
  });
  const dispose = async () => {
    stop.abort();
    await api[Symbol.asyncDispose]();
  };
  return { clock, api, pods, templates, health, isFit: () => isFit, [Symbol.asyncDispose]: dispose };
}

it("a replica stands for election once its stores are filled", async () => {
  await using world = await open();
  world.pods.fill();
  await world.clock.advance(refusalLimitMs);
  expect(world.isFit()).toBe(false);
  expect(world.health.readyPage()).toMatchObject({ status: 503, body: expect.stringContaining("SandboxTemplate") });
  world.templates.fill();
  await vi.waitFor(() => expect(world.isFit()).toBe(true), waiting);
  expect(world.health.readyPage()).toMatchObject({ body: "ok" });
});

it("a refused kind of the extensions delays the election by two minutes, a missing kind does not", async () => {
  await using refused = await open();
  refused.pods.fill();
  refused.templates.fails("refused");
  await refused.clock.advance(refusalLimitMs - 2_000);
  expect(refused.isFit()).toBe(false);
  await asTimePasses(refused.clock, () => expect(refused.isFit()).toBe(true));
  expect(refused.health.seesExtensions()).toBe(false);

  await using missing = await open();
  missing.templates.fails("missing");
  missing.pods.fill();
  await asTimePasses(missing.clock, () => expect(missing.isFit()).toBe(true));
});

it("a replica without the stores of Sandboxes never stands", async () => {
  await using world = await open();
  world.templates.fill();
  world.pods.fails("refused");
  await world.clock.advance(10 * refusalLimitMs);
  expect(world.isFit()).toBe(false);
});

it("a replica is ready while the API server may need its webhook to list a kind", async () => {
  await using world = await open();
  world.pods.fill();
  world.templates.fails("failed");
  expect(world.health.readyPage()).toMatchObject({ body: "ok" });
});

it("a leader gives up once a kind that it uses was refused for two minutes", async () => {
  await using world = await open();
  const { clock, api, health, pods, templates } = world;
  pods.fill();
  templates.fill();
  const name = { namespace: "default", name: "lease" };
  const election = { client: api.client, clock, log: silentLogger, identity: "one", fitness: health, ...name };
  await using leader = startLeaderElection(election);
  await leader.elected;
  health.useCore();
  pods.fails("refused");
  expect(health.reasonToYield()).toBeUndefined();
  const lost = vi.fn();
  leader.lost.catch(lost);
  await asTimePasses(clock, () => expect(lost).toHaveBeenCalledWith(expect.any(LeadershipLost)));
  expect(String(lost.mock.calls[0]?.[0])).toContain("refused Pod");
  expect((await api.client.get(leaseType, name)).spec?.holderIdentity).toBe("one");
});

it("a leader gives up once the API server has failed to deliver a kind that it uses for five minutes", async () => {
  await using world = await open();
  const { clock, health, pods } = world;
  pods.fails("failed");
  await clock.advance(failureLimitMs);
  expect(health.reasonToYield()).toBeUndefined();
  health.useCore();
  expect(health.reasonToYield()).toBe("the API server has failed to deliver Pod for 300 s");
  pods.recovers();
  pods.fails("failed");
  await clock.advance(failureLimitMs - 1);
  expect(health.reasonToYield()).toBeUndefined();
});

it("a leader gives up for failures of several sorts in turn, and not for a missing kind", async () => {
  await using world = await open();
  const { clock, health, pods, templates } = world;
  health.useCore();
  health.useExtensions();
  templates.fails("missing");
  for (let passedMs = 0; passedMs < failureLimitMs; passedMs += 20_000) {
    pods.fails(passedMs % 40_000 === 0 ? "failed" : "refused");
    expect(health.reasonToYield()).toBeUndefined();
    await clock.advance(20_000);
  }
  expect(health.reasonToYield()).toContain("failed to deliver Pod");
  pods.recovers();
  expect(health.reasonToYield()).toBeUndefined();
});

it("a replica whose store has failed for long does not stand for election until it has recovered", async () => {
  await using world = await open();
  const { clock, health, pods, templates } = world;
  pods.fill();
  await pods.synced;
  pods.fails("failed");
  await clock.advance(failureLimitMs);
  templates.fill();
  await clock.advance(60_000);
  expect(world.isFit()).toBe(false);
  pods.recovers();
  await asTimePasses(clock, () => expect(world.isFit()).toBe(true));
  templates.fails("failed");
  await clock.advance(failureLimitMs);
  expect(health.seesExtensions()).toBe(false);
});

it("a replica that waits for a kind keeps nothing of its checks", async () => {
  await using world = await open();
  world.pods.fill();
  await world.clock.advance(0);
  const race = vi.spyOn(Promise, "race");
  for (let second = 0; second < 100; second += 1) await world.clock.advance(1_000);
  const races = race.mock.calls.length;
  race.mockRestore();
  expect(races).toBe(0);
});
