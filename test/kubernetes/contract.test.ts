import { afterAll, beforeAll } from "vitest";
import { waitUntil } from "../../cluster/wait.ts";
import { systemClock } from "../../lib/clock.ts";
import { describeApiServerContract } from "../contract/api-server-contract.ts";
import { type ContractApi, openNamespace } from "../contract/contract-api.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A namespace into which the cluster's controllers have put what they put into every one. */
async function openSettledNamespace(): Promise<ContractApi> {
  const api = await openNamespace({ ...cluster, headers: {} });
  for (const object of ["configmaps/kube-root-ca.crt", "serviceaccounts/default"]) {
    const isThere = async () => (await api.call("GET", `/api/v1/namespaces/${api.namespace}/${object}`)).code === 200;
    const complaint = () => `${object} is not made in a new namespace`;
    await waitUntil(isThere, { clock: systemClock, limitMs: 10_000, complaint });
  }
  return api;
}

describeApiServerContract("kube-apiserver", openSettledNamespace);
