import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { release } from "../../cluster/release/install-chart.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { describeApiServerContract } from "../contract/api-server-contract.ts";
import { type ContractApi, openNamespace } from "../contract/contract-api.ts";
import { describeVersions } from "../contract/versions.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";
import { established } from "./support/established.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
  await holdLease();
  await cluster.kubectl.run(["apply", `--filename=${memoryImages}`]);
  await established(cluster.kubectl.run, [`--filename=${memoryImages}`]);
});
afterAll(async () => {
  await cluster.kubectl.run(["delete", `--filename=${memoryImages}`, "--ignore-not-found"]);
  await kubectlInRelease("delete", "lease", lease);
  await cluster[Symbol.asyncDispose]();
});

/** The chart does not install it by default. */
const memoryImages = join(import.meta.dirname, "..", "..", "crds", "hibernation");
const lease = "a3317529.agent-sandbox.x-k8s.io";
const kubectlInRelease = (...args: readonly string[]) =>
  cluster.kubectl.run([...args, `--namespace=${release.namespace}`]);

/**
 * Takes the lease and does nothing with it, because our controller would write to the objects of the tests. Replicas that
 * do not lead still serve the webhook, which every object needs in the older version.
 */
async function holdLease(): Promise<void> {
  const spec = {
    holderIdentity: "contract-tests",
    leaseDurationSeconds: 3_600,
    renewTime: systemClock.now().toISOString().replace("Z", "000Z"),
  };
  await kubectlInRelease("patch", "lease", lease, "--type=merge", `--patch=${JSON.stringify({ spec })}`);
  // Restarted, so that no replica believes that it leads.
  await kubectlInRelease("rollout", "restart", "deployment/agent-sandbox-controller");
  await kubectlInRelease("rollout", "status", "deployment/agent-sandbox-controller", "--timeout=60s");
}

/** A namespace with the objects that the cluster's controllers create in every namespace. */
async function openSettledNamespace(): Promise<ContractApi> {
  const api = await openNamespace({ ...cluster, headers: {} });
  for (const object of ["configmaps/kube-root-ca.crt", "serviceaccounts/default"]) {
    const isThere = async () => (await api.call("GET", `/api/v1/namespaces/${api.namespace}/${object}`)).code === 200;
    const complaint = () => `${object} is not made in a new namespace`;
    await waitUntil(isThere, { clock: systemClock, limitMs: 45_000, complaint });
  }
  return api;
}

describeApiServerContract("kube-apiserver", openSettledNamespace);
describeVersions("kube-apiserver with the webhook", openSettledNamespace);
