import { describe, expect, it } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { openLocalNode } from "../../../test/support/labs/local-node.ts";

/** Waits for an object that does not exist, so that no process starts. */
const waits = {
  nodeName: "local",
  terminationGracePeriodSeconds: 0,
  containers: [{ name: "main", image: "node", command: ["true"], envFrom: [{ configMapRef: { name: "missing" } }] }],
};

const rejected = {
  phase: "Failed",
  reason: "OutOfpods",
  message: "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
};

describe("a Pod that names the node, when the node is full", () => {
  it("is rejected as by a kubelet, also after a restart, and can be deleted", async () => {
    await using node = await openLocalNode({ podsMax: 2 });
    await node.createPod("first", waits);
    await node.createPod("last", waits);
    await node.createPod("nova", waits);
    const pod = await node.podOnce("nova", ({ status }) => expect(status).toMatchObject(rejected));
    expect(pod.status?.containerStatuses).toBeUndefined();
    await expect
      .poll(async () => (await node.eventsAbout("nova")).map(({ reason, type }) => `${type} ${reason}`))
      .toEqual(["Warning OutOfpods"]);
    await node.podOnce("last", ({ status }) => expect(status?.phase).toBe("Pending"));

    await node.stop();
    await node.createPod("aaron", waits); // before all others in the order of names
    await node.restart();
    await node.podOnce("aaron", ({ status }) => expect(status).toMatchObject(rejected));
    const { items } = await node.client.list(podType, { namespace: "default" });
    const failed = items.filter(({ status }) => status?.phase === "Failed").map(({ metadata }) => metadata.name);
    expect(failed).toEqual(["aaron", "nova"]);

    await node.client.delete(podType, { namespace: "default", name: "nova" });
    await node.gone("nova");
  });
});
