import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { release } from "../../../cluster/release/install-chart.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { happensOnce } from "../support/happens-once.ts";
import { findActivator, type InstalledActivator } from "./support/installed-activator.ts";
import { killProgramOf, leaderIdentity, leadingReplica } from "./support/replicas.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";
import { noticedMs, startTraffic } from "./support/traffic.ts";

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findActivator(cluster);
});
afterAll(async () => {
  await settled();
  await cluster[Symbol.asyncDispose]();
});

const inRelease = (...args: readonly string[]) => cluster.kubectl.run([`--namespace=${release.namespace}`, ...args]);
const settled = () => inRelease("rollout", "status", "deployment/agent-sandbox-controller", "--timeout=180s");

describe("a controller that gets SIGTERM", () => {
  it("hands over before its successor's next try for the lease", async () => {
    const leader = await leadingReplica(cluster);
    const identity = await leaderIdentity(cluster);
    const startMs = systemClock.ticksMs();
    await inRelease("delete", "pod", leader.metadata.name, "--wait=false");
    const isHandedOver = async () => !["", identity].includes(await leaderIdentity(cluster));
    await eventually(isHandedOver);
    // The successor tries every two seconds. If it had to wait for the end of the lease, this would take fifteen.
    expect(systemClock.ticksMs() - startMs).toBeLessThan(10_000);
    await settled();
  });
});

describe("a controller that is killed", () => {
  const prepared = happensOnce(2, async () => {});
  const leaderKilled = happensOnce(2, async () => killProgramOf(await leadingReplica(cluster)));

  it.concurrent("is replaced after its lease; held requests wait for that, warm ones are not affected", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(sandboxNamed("warm"), sandboxNamed("held"));
    await test.untilAsleep("warm", "held");
    await activator.askProgram(test.at("warm"));
    const identity = await leaderIdentity(cluster);
    await using traffic = startTraffic(() => activator.askProgram(test.at("warm")));
    await prepared();
    await leaderKilled();
    const { tookMs } = await activator.askProgram(test.at("held"), { method: "POST" });
    expect(tookMs).toBeLessThan(30_000); // the lease expires after 15 s
    expect(await leaderIdentity(cluster)).not.toBe(identity);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    expect(traffic.slowestMs).toBeLessThan(noticedMs);
  });

  it.concurrent("leaves a suspension that waits for a request to its successor, and the request is answered", async () => {
    await using test = await openSandboxes(cluster);
    const autoSuspension = { drainTimeoutSeconds: 90 };
    await test.apply(sandboxNamed("draining", { spec: { autoSuspension } }));
    await test.untilAsleep("draining");
    const { boot } = await activator.askProgram(test.at("draining"));
    const identity = await leaderIdentity(cluster);
    await prepared();
    const long = activator.askProgram(test.at("draining"), { method: "POST", path: "/?after=25000" });
    await test.pause("draining");
    const sealed = async () => Object.keys((await test.sandbox("draining")).metadata.annotations ?? {});
    await eventually(async () => (await sealed()).some((key) => key.includes("seal")));
    await leaderKilled();
    expect(await long).toMatchObject({ boot, asked: 2 });
    await test.untilAsleep("draining");
    expect(await leaderIdentity(cluster)).not.toBe(identity);
    expect(await sealed()).not.toContainEqual(expect.stringContaining("seal"));
  });
});
