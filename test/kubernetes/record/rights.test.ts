import { afterAll, beforeAll, expect, it } from "vitest";
import { release } from "../../../cluster/install-chart.ts";
import { requestsOf, wordsOfRequest } from "../e2e/support/audit-log.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { grantedBy } from "../support/granted-rights.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** What nobody can see used, and why it is granted all the same. */
const unseen: Readonly<Record<string, readonly string[]>> = {
  // Asked by an admission plugin about whoever writes an owner reference: he must be able to delete what is to be owned, and
  // to change what blocks the owner's deletion.
  "the right to be an owner": [
    "delete persistentvolumeclaims",
    "update sandboxclaims/finalizers.extensions.agents.x-k8s.io",
    "update sandboxes/finalizers.agents.x-k8s.io",
    "update sandboxtemplates/finalizers.extensions.agents.x-k8s.io",
    "update sandboxwarmpools/finalizers.extensions.agents.x-k8s.io",
  ],
  // Read when a create finds that somebody else was faster by less than the watch takes to tell.
  "the look at who was faster": [
    "get endpointslices.discovery.k8s.io",
    "get networkpolicies.networking.k8s.io",
    "get persistentvolumeclaims",
    "get services",
  ],
  // Read anew when a claim was changed by others between the look at it and the write.
  "the look at what came between": ["get sandboxclaims.extensions.agents.x-k8s.io"],
  // The ports of a sandbox that is gone rest for ten minutes.
  "the end of a rest": ["delete endpointslices.discovery.k8s.io"],
  // Only a member that has not become ready within the grace period, which is minutes, has its Pod looked at.
  "the look at what is stuck": ["get pods"],
};

it("has the controller use all that it is granted, in the course of these tests", async () => {
  const used = new Set(requestsOf("controller").map(wordsOfRequest));
  const granted = [
    ...(await grantedBy(cluster.kubectl, "clusterrole", "agent-sandbox-controller")),
    ...(await grantedBy(cluster.kubectl, "clusterrole", "agent-sandbox-controller-extensions")),
    ...(await grantedBy(cluster.kubectl, "role", "agent-sandbox-controller", `--namespace=${release.namespace}`)),
  ];
  const inVain = granted.filter((right) => !used.has(right) && !Object.values(unseen).flat().includes(right));
  expect(inVain).toEqual([]);
});
