import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { release } from "../../../cluster/install-chart.ts";
import { systemClock } from "../../../lib/clock.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { findActivator, type InstalledActivator } from "./support/installed-activator.ts";
import { heldRequests, killProgramOf, leaderIdentity, leadingReplica, replicasOf } from "./support/replicas.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";
import { noticedMs, startTraffic, wordsOf } from "./support/traffic.ts";

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findActivator(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const inRelease = (...args: readonly string[]) => cluster.kubectl.run([`--namespace=${release.namespace}`, ...args]);
const listensAfter = (ms: number) => ({ container: { env: [{ name: "LISTEN_AFTER_MS", value: String(ms) }] } });
const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make);

describe("a rolling restart of the activator", () => {
  it("fails none of 200 held requests, 50 carried ones, and those that arrive meanwhile", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(sandboxNamed("carrying"), sandboxNamed("held", listensAfter(25_000)));
    await test.untilAsleep("carrying", "held");
    await activator.askProgram(test.at("carrying"));
    const carried = times(50, () => activator.askProgram(test.at("carrying"), { path: "/?after=25000" }));
    const held = times(200, () => activator.askProgram(test.at("held"), { method: "POST" }));
    const outcome = Promise.allSettled([...carried, ...held]);
    await eventually(async () => (await heldRequests(cluster)) === 200);
    await eventually(async () => (await activator.askProgram(test.at("carrying"))).asked > 50);
    await using traffic = startTraffic(() => activator.askProgram(test.at("carrying"), { method: "POST" }));

    await inRelease("rollout", "restart", "deployment/sandbox-router");
    await inRelease("rollout", "status", "deployment/sandbox-router", "--timeout=60s");

    const failed = (await outcome).filter(({ status }) => status === "rejected");
    await traffic.stop();
    expect(failed).toEqual([]);
    expect(traffic.failures).toEqual([]);
    expect(traffic.answered).toBeGreaterThan(100);
    const answers = await Promise.all(held);
    expect(answers.map(({ asked }) => asked).sort((a, b) => a - b)).toEqual(answers.map((_, at) => at + 1));
  }, 120_000);
});

describe("an activator that is killed", () => {
  it("takes with it what it held, and nothing else: every other request is answered or refused unread", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(sandboxNamed("warm"), sandboxNamed("held", listensAfter(5_000)));
    await test.untilAsleep("warm", "held");
    await activator.askProgram(test.at("warm"));
    const held = times(40, () => activator.askProgram(test.at("held"), { method: "POST" }));
    const outcome = Promise.allSettled(held);
    await eventually(async () => (await heldRequests(cluster)) === 40);
    await using traffic = startTraffic(() => activator.askProgram(test.at("warm"), { method: "POST" }));

    const [victim] = await replicasOf(cluster, "sandbox-router");
    if (!victim) throw new Error("there is no activator");
    killProgramOf(victim);

    const lost = (await outcome).filter((each) => each.status === "rejected").map(({ reason }) => wordsOf(reason));
    expect(new Set(lost)).toEqual(new Set(["ECONNRESET"]));
    expect(lost.length).toBeLessThan(40);
    // Sent again, they find the sandbox awake: its wake was not lost with the one who had asked for it.
    expect(await activator.askProgram(test.at("held"), { method: "POST" })).toMatchObject({ asked: 41 - lost.length });
    await inRelease("rollout", "status", "deployment/sandbox-router", "--timeout=60s");
    await traffic.stop();
    expect(traffic.failures.filter((failure) => !["ECONNREFUSED", "ECONNRESET"].includes(failure))).toEqual([]);
    // At most the one request that was under way.
    expect(traffic.failures.filter((failure) => failure === "ECONNRESET").length).toBeLessThanOrEqual(1);
  });
});

describe("a controller that leaves", () => {
  it("hands over within its successor's next look, when it is told to end", async () => {
    const leader = await leadingReplica(cluster);
    const identity = await leaderIdentity(cluster);
    const startMs = systemClock.ticksMs();
    await inRelease("delete", "pod", leader.metadata.name, "--wait=false");
    const isHandedOver = async () => !["", identity].includes(await leaderIdentity(cluster));
    await eventually(isHandedOver);
    // It asks every two seconds; had it to wait for the lease to end, that would be fifteen.
    expect(systemClock.ticksMs() - startMs).toBeLessThan(10_000);
    await inRelease("rollout", "status", "deployment/agent-sandbox-controller", "--timeout=60s");
  });

  it("is followed when its lease is over, when it is killed; held requests wait for that, warm ones do not notice", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(sandboxNamed("warm"), sandboxNamed("held"));
    await test.untilAsleep("warm", "held");
    await activator.askProgram(test.at("warm"));
    const identity = await leaderIdentity(cluster);
    await using traffic = startTraffic(() => activator.askProgram(test.at("warm")));
    killProgramOf(await leadingReplica(cluster));
    const { tookMs } = await activator.askProgram(test.at("held"), { method: "POST" });
    expect(tookMs).toBeLessThan(30_000); // the lease has 15 s to run out
    expect(await leaderIdentity(cluster)).not.toBe(identity);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    expect(traffic.slowestMs).toBeLessThan(noticedMs);
    await inRelease("rollout", "status", "deployment/agent-sandbox-controller", "--timeout=60s");
  });
});
