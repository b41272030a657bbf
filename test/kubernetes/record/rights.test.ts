import { afterAll, beforeAll, expect, it } from "vitest";
import { release } from "../../../cluster/release/install-chart.ts";
import { requestsOf, wordsOfRequest } from "../e2e/support/audit-log.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { grantedBy } from "../support/granted-rights.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** The rights whose use is not visible in the audit log, with the reason for each. */
const unseen: Readonly<Record<string, readonly string[]>> = {
  // An admission plugin checks the writer of an owner reference: it must have the right to delete the dependent, and
  // to change the owner's finalizers.
  "admission of owner references": [
    "delete persistentvolumeclaims",
    "update sandboxclaims/finalizers.extensions.agents.x-k8s.io",
    "update sandboxes/finalizers.agents.x-k8s.io",
    "update sandboxtemplates/finalizers.extensions.agents.x-k8s.io",
    "update sandboxwarmpools/finalizers.extensions.agents.x-k8s.io",
  ],
  // Read if a create finds an object of another client that the watch has not shown yet.
  "conflicts at a create": [
    "get endpointslices.discovery.k8s.io",
    "get networkpolicies.networking.k8s.io",
    "get persistentvolumeclaims",
    "get services",
  ],
  // Read again if another client changed the object between our read and our write, or if what was created for it is gone at once.
  "conflicts at a write, and lost children": [
    "get sandboxclaims.extensions.agents.x-k8s.io",
    "get sandboxtemplates.extensions.agents.x-k8s.io",
    "get sandboxwarmpools.extensions.agents.x-k8s.io",
  ],
  // The ports of a deleted sandbox are in quarantine for ten minutes.
  "the end of a quarantine": ["delete endpointslices.discovery.k8s.io"],
  // Only a member that is not ready after the grace period, which is minutes, has its Pod read.
  "members that are not ready": ["get pods"],
};

it("the controller uses all of its rights in the course of these tests", async () => {
  const used = new Set(requestsOf("controller").map(wordsOfRequest));
  const granted = [
    ...(await grantedBy(cluster.kubectl, "clusterrole", "agent-sandbox-controller")),
    ...(await grantedBy(cluster.kubectl, "clusterrole", "agent-sandbox-controller-extensions")),
    ...(await grantedBy(cluster.kubectl, "role", "agent-sandbox-controller", `--namespace=${release.namespace}`)),
  ];
  const inVain = granted.filter((right) => !used.has(right) && !Object.values(unseen).flat().includes(right));
  expect(inVain).toEqual([]);
});
