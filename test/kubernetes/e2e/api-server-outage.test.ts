import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { release } from "../../../cluster/install-chart.ts";
import { eventually } from "../../support/eventually.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
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
afterAll(() => cluster[Symbol.asyncDispose]());

const rolloutOf = (deployment: string) => {
  const args = ["rollout", "status", `deployment/${deployment}`, `--namespace=${release.namespace}`, "--timeout=90s"];
  return cluster.kubectl.run(args);
};

it("costs warm traffic nothing when kube-apiserver is away for 20 seconds and etcd is compacted, and wakes go on after it", async () => {
  await using test = await openSandboxes(cluster);
  const slow = { container: { env: [{ name: "LISTEN_AFTER_MS", value: "3000" }] } };
  await test.apply(sandboxNamed("warm"), sandboxNamed("waking", slow), sandboxNamed("asleep"));
  await test.untilAsleep("warm", "waking", "asleep");
  await activator.askProgram(test.at("warm"));
  await using traffic = startTraffic(() => activator.askProgram(test.at("warm"), { method: "POST" }));
  const waking = activator.askProgram(test.at("waking"), { method: "POST" });
  await eventually(async () => (await test.podOf("waking")) !== undefined);

  const answered: Promise<{ readonly asked: number }>[] = [waking];
  {
    await using _outage = await stopComponent("kube-apiserver");
    const before = traffic.answered;
    answered.push(activator.askProgram(test.at("asleep"), { method: "POST" }));
    await compactEtcd();
    await delay(outageMs); // the outage itself is the subject: it lasts this long
    expect(traffic.answered - before).toBeGreaterThan(200);
  }
  expect(await Promise.all(answered)).toMatchObject([{ asked: 1 }, { asked: 1 }]);
  await rolloutOf("agent-sandbox-controller");
  await rolloutOf("sandbox-router");
  await traffic.stop();
  expect(traffic.failures).toEqual([]);
  expect(traffic.slowestMs).toBeLessThan(noticedMs);
}, 180_000);
