import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { release } from "../../../cluster/release/install-chart.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { happensOnce } from "../support/happens-once.ts";
import { stopComponent } from "./support/components.ts";
import { anActivator, findDirectly } from "./support/direct-activator.ts";
import { compactEtcd } from "./support/etcd.ts";
import type { InstalledActivator } from "./support/installed-activator.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";
import { noticedMs, startTraffic } from "./support/traffic.ts";

const outageMs = 20_000;

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findDirectly(cluster, await anActivator(cluster));
});
afterAll(async () => {
  for (const deployment of ["agent-sandbox-controller", "sandbox-router"]) {
    const args = [
      "rollout",
      "status",
      `deployment/${deployment}`,
      `--namespace=${release.namespace}`,
      "--timeout=180s",
    ];
    await cluster.kubectl.run(args);
  }
  await cluster[Symbol.asyncDispose]();
});

/** Resolves when both tests have prepared everything before the wakes during the outage. */
const prepared = happensOnce(2, async () => {});
/** Resolves when the API server is down; `over` resolves when it is back. */
const outage = happensOnce(2, async () => {
  const stopped = await stopComponent("kube-apiserver");
  // The duration of the tested outage.
  return { over: delay(outageMs).then(() => stopped[Symbol.asyncDispose]()) };
});
const nearlyOver = () => delay(outageMs * 0.9);

// The kubelet may be away as long as the API server, and longer. Only the kubelet can start and end a Pod.
const kubeletLimitMs = 180_000;

describe.concurrent("during 20 seconds without kube-apiserver", () => {
  it("warm traffic is not affected, even if etcd is compacted, and wakes continue afterwards", async () => {
    await using test = await openSandboxes(cluster);
    const slow = { container: { env: [{ name: "LISTEN_AFTER_MS", value: "3000" }] } };
    await test.apply(sandboxNamed("warm"), sandboxNamed("waking", slow), sandboxNamed("asleep"));
    await test.untilAsleep("warm", "waking", "asleep");
    await activator.askProgram(test.at("warm"));
    await using traffic = startTraffic(() => activator.askProgram(test.at("warm"), { method: "POST" }));
    await prepared();
    const waking = activator.askProgram(test.at("waking"), { method: "POST" });
    await eventually(async () => (await test.podOf("waking")) !== undefined);

    const { over } = await outage();
    const before = traffic.answered;
    const asleep = activator.askProgram(test.at("asleep"), { method: "POST" });
    const answers = Promise.all([waking, asleep]);
    await compactEtcd();
    await nearlyOver();
    expect(traffic.answered - before).toBeGreaterThan(200);
    await over;
    expect(await answers).toMatchObject([{ asked: 1 }, { asked: 1 }]);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    expect(traffic.slowestMs).toBeLessThan(noticedMs);
  }, 300_000);

  it("a sandbox past its deadline is served, and suspended later, counted from the last activity", async () => {
    await using test = await openSandboxes(cluster);
    const spec = { autoSuspension: { inactivityTimeoutSeconds: 8 } };
    await test.apply(sandboxNamed("idle", { spec }), sandboxNamed("used", { spec }));
    await test.untilAsleep("idle", "used");
    const [idle, used] = await Promise.all(["idle", "used"].map((name) => activator.askProgram(test.at(name))));
    await using traffic = startTraffic(async () => {
      const { boot } = await activator.askProgram(test.at("used"), { method: "POST" });
      if (boot !== used?.boot) throw new Error("another process has answered");
    });
    await test.run("wait", "sandbox/idle", "sandbox/used", "--for=condition=Ready", "--timeout=60s");

    await using stillUsed = startTraffic(() => activator.askProgram(test.at("idle")));
    await prepared();
    const { over } = await outage();
    await stillUsed.stop();
    await nearlyOver();
    expect((await activator.askProgram(test.at("idle"))).boot).toBe(idle?.boot);
    await over;
    const untilAsleep = (name: string) =>
      test.run("wait", `sandbox/${name}`, "--for=condition=Suspended", `--timeout=${kubeletLimitMs / 1_000}s`);
    await untilAsleep("idle");
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    await untilAsleep("used");
  }, 300_000);
});
