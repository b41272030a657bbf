import { expect, it } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import type { PodStatus } from "../../../api/kinds/pod.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { openSleepLab, waiting } from "../../../test/support/labs/sleep-lab.ts";

const where = { namespace: "agent-sandbox-system", name: "activator-2" };

/** A second activator that is being deleted in this state; something that does not end keeps its Pod in the API. */
async function anActivatorThatIsKept(client: KubeClient, status: PodStatus): Promise<void> {
  await client.create(podType, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...where, labels: { app: "sandbox-router" }, finalizers: ["example.com/keep"] },
    spec: { containers: [{ name: "router", image: "rouse" }], nodeName: "node-1" },
  });
  await expect.poll(async () => (await client.get(podType, where)).status?.phase, waiting).toBe("Running");
  const all = { conditions: null, podIP: null, podIPs: null, ...status };
  await client.patch(podType, where, { type: "merge", body: { status: all } }, { subresource: "status" });
  await client.delete(podType, where);
}

const running = { name: "router", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };

it.each<PodStatus>([
  { phase: "Failed" },
  { phase: "Succeeded" },
  { phase: "Failed", conditions: [{ type: "Ready", status: "True" }], containerStatuses: [running] },
])("sandboxes sleep while the API keeps the Pod of an activator that has ended: %j", async (status) => {
  await using lab = await openSleepLab();
  await anActivatorThatIsKept(lab.client, status);
  const clock = new FakeClock(systemClock.now());
  await using _controller = await lab.startController({ clock });
  await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 1 } });
  await lab.untilAsleep(clock);
  expect((await lab.client.get(podType, where)).metadata.deletionTimestamp).toBeDefined();
});
