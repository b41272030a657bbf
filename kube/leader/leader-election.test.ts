import { describe, expect, it, vi } from "vitest";
import { leaseType } from "../../api/kinds/core.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { aFailure, answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { waiting } from "../../test/support/waiting.ts";
import type { KubeClient } from "../client/client.ts";
import { LeadershipLost, startLeaderElection } from "./leader-election.ts";

const where = { namespace: "default", name: "a3317529.agent-sandbox.x-k8s.io" };

const stand = (client: KubeClient, clock: FakeClock, identity: string) =>
  startLeaderElection({ client, clock, log: silentLogger, identity, ...where });

const leaseOf = async (client: KubeClient) => (await client.get(leaseType, where)).spec;

/** Advances two seconds, and waits until the leader has renewed its lease. */
async function passOneRenewal(client: KubeClient, clock: FakeClock): Promise<void> {
  const before = await leaseOf(client);
  await clock.advance(2_000);
  await vi.waitFor(async () => expect((await leaseOf(client))?.renewTime).not.toBe(before?.renewTime), waiting);
}

describe("a candidate", () => {
  it("leads at once without an existing lease, and holds it for 15 seconds at a time", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00Z");
    await using api = await openMemoryApi();
    await using election = stand(api.client, clock, "one");
    expect(election.isLeader()).toBe(false);
    await election.elected;
    expect(election.isLeader()).toBe(true);
    expect(await leaseOf(api.client)).toEqual({
      holderIdentity: "one",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-01T00:00:00.000000Z",
      renewTime: "2026-01-01T00:00:00.000000Z",
      leaseTransitions: 0,
    });
  });

  it("waits while the leader renews", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    await using leader = stand(api.client, clock, "one");
    await leader.elected;
    await using other = stand(api.client, clock, "two");
    for (let renewals = 0; renewals < 20; renewals += 1) await passOneRenewal(api.client, clock);
    expect(leader.isLeader()).toBe(true);
    expect(other.isLeader()).toBe(false);
  });

  it("leads within two seconds after the leader gave the lease back", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    const leader = stand(api.client, clock, "one");
    await leader.elected;
    await using other = stand(api.client, clock, "two");
    await passOneRenewal(api.client, clock);
    await leader[Symbol.asyncDispose]();
    expect(leader.isLeader()).toBe(false);
    expect(await leaseOf(api.client)).not.toHaveProperty("holderIdentity");
    await clock.advance(2_000);
    await other.elected;
    expect(await leaseOf(api.client)).toMatchObject({ holderIdentity: "two", leaseTransitions: 1 });
  });

  it("takes over from a vanished leader after 15 s of its own clock, not by the time in the Lease", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    const spec = { holderIdentity: "gone", leaseDurationSeconds: 15, renewTime: "2020-01-01T00:00:00.000000Z" };
    await api.client.create(leaseType, { metadata: where, spec });
    await using election = stand(api.client, clock, "two");
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting); // it has read the lease, and waits
    clock.jumpWall(86_400_000);
    await clock.advance(14_000);
    expect(election.isLeader()).toBe(false);
    await asTimePasses(clock, () => expect(election.isLeader()).toBe(true));
    expect(clock.ticksMs()).toBeGreaterThanOrEqual(15_000);
  });

  it("is the only one to lead of many that start together", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    const candidates = ["one", "two", "three", "four"].map((identity) => stand(api.client, clock, identity));
    await Promise.race(candidates.map(({ elected }) => elected));
    await passOneRenewal(api.client, clock);
    expect(candidates.filter((candidate) => candidate.isLeader())).toHaveLength(1);
    await Promise.all(candidates.map((candidate) => candidate[Symbol.asyncDispose]()));
  });

  it("that is disposed of before it led leaves another's lease alone", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    await using leader = stand(api.client, clock, "one");
    await leader.elected;
    const before = await leaseOf(api.client);
    await stand(api.client, clock, "two")[Symbol.asyncDispose]();
    expect(await leaseOf(api.client)).toEqual(before);
  });
});

describe("a leader", () => {
  it("loses when the API server is gone for ten seconds, and not sooner", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    await using election = stand(api.client, clock, "one");
    await election.elected;
    await api.server[Symbol.asyncDispose]();
    const outcome = election.lost.catch((error: unknown) => error);
    await asTimePasses(clock, () => expect(election.isLeader()).toBe(false));
    expect(await outcome).toBeInstanceOf(LeadershipLost);
    expect(clock.ticksMs()).toBe(10_000);
  });

  it("loses when the API server accepts its renewals and does not respond for ten seconds", async () => {
    const clock = new FakeClock();
    await using api = await openScriptedApi(({ method, body }, response) => {
      const first = api.received.length <= 2;
      if (first && method === "GET") answerJson(response, 404, aFailure(404, "NotFound"));
      else if (first) answerJson(response, 201, body);
    });
    const election = stand(api.client, clock, "one");
    await election.elected;
    await asTimePasses(clock, () => expect(election.isLeader()).toBe(false));
    expect(clock.ticksMs()).toBe(10_000);
    await expect(election.lost).rejects.toThrow(LeadershipLost);
    const disposed = election[Symbol.asyncDispose]();
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting); // the limit of the release
    await clock.advance(2_000);
    await disposed;
  });

  it("loses as soon as it sees another holder", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    await using election = stand(api.client, clock, "one");
    await election.elected;
    const spec = { holderIdentity: "two", leaseDurationSeconds: 15 };
    await api.client.patch(leaseType, where, { type: "merge", body: { spec } });
    await asTimePasses(clock, () => expect(election.isLeader()).toBe(false));
    await expect(election.lost).rejects.toThrow("two holds the lease");
    await election[Symbol.asyncDispose]();
    expect(await leaseOf(api.client)).toMatchObject(spec);
  });

  it("continues after a conflict with a client that only edited the lease", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    await using election = stand(api.client, clock, "one");
    await election.elected;
    await api.client.patch(leaseType, where, { type: "merge", body: { metadata: { labels: { seen: "yes" } } } });
    for (let renewals = 0; renewals < 6; renewals += 1) await passOneRenewal(api.client, clock);
    expect(election.isLeader()).toBe(true);
  });

  it.each([
    { what: "a suspension of the machine", jumpMs: 3_600_000 },
    { what: "a jump of the wall clock back", jumpMs: -3_600_000 },
  ])("leads no more after $what, before any timer runs or the server answers", async ({ jumpMs }) => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    await using election = stand(api.client, clock, "one");
    await election.elected;
    await passOneRenewal(api.client, clock);
    expect(() => election.confirm()).not.toThrow();
    clock.jumpWall(jumpMs);
    expect(election.isLeader()).toBe(false);
    expect(() => election.confirm()).toThrow("the lease was not renewed for 10 s");
    await expect(election.lost).rejects.toThrow(LeadershipLost);
  });

  it("whose machine was suspended loses with its next timer, without a renewal", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    await using election = stand(api.client, clock, "one");
    await election.elected;
    await passOneRenewal(api.client, clock);
    const before = await leaseOf(api.client);
    clock.jumpWall(3_600_000);
    await clock.advance(2_000);
    await expect(election.lost).rejects.toThrow("the lease was not renewed for 10 s");
    expect(await leaseOf(api.client)).toEqual(before);
  });

  it("recreates a deleted lease", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi();
    await using election = stand(api.client, clock, "one");
    await election.elected;
    await api.client.delete(leaseType, where);
    await clock.advance(2_000);
    await vi.waitFor(async () => expect(await leaseOf(api.client)).toMatchObject({ holderIdentity: "one" }), waiting);
    expect(election.isLeader()).toBe(true);
  });
});
