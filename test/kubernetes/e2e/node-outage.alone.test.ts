import { afterAll, beforeAll, expect, it } from "vitest";
import { nodeName } from "../../../cluster/network.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { stopComponent } from "./support/components.ts";
import { findActivator, type InstalledActivator } from "./support/installed-activator.ts";
import { replicasOf } from "./support/replicas.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  const [replica] = await replicasOf(cluster, "sandbox-router");
  // The one node also has the activators, and a Service has no endpoint on a node that is not ready.
  activator = await findActivator(cluster, replica?.status?.podIP);
});
afterAll(() => cluster[Symbol.asyncDispose]());

it("serves from a node that stopped reporting, shows this, and wakes others when it reports again", async () => {
  await using test = await openSandboxes(cluster);
  const patient = { autoResume: { timeoutSeconds: 150 } };
  await test.apply(sandboxNamed("awake"), sandboxNamed("asleep", { spec: patient }));
  await test.untilAsleep("awake", "asleep");
  const { boot } = await activator.askProgram(test.at("awake"));
  await test.run("wait", "sandbox/awake", "--for=condition=Ready", "--timeout=60s");
  let waking: Promise<{ readonly asked: number }>;
  {
    await using _outage = await stopComponent("kubelet");
    await cluster.kubectl.run(["wait", `node/${nodeName}`, "--for=condition=Ready=Unknown", "--timeout=180s"]);
    await test.run("wait", "sandbox/awake", "--for=condition=Ready=False", "--timeout=60s");
    expect(await test.condition("awake", "Ready")).toMatchObject({ reason: "DependenciesNotReady" });
    expect((await activator.askProgram(test.at("awake"))).boot).toBe(boot);
    waking = activator.askProgram(test.at("asleep"));
    await test.run("wait", "sandbox/asleep", "--for=jsonpath={.spec.operatingMode}=Running", "--timeout=60s");
  }
  expect(await waking).toMatchObject({ asked: 1 });
  await test.run("wait", "sandbox/awake", "--for=condition=Ready", "--timeout=60s");
  expect((await activator.askProgram(test.at("awake"))).boot).toBe(boot);
}, 480_000);
