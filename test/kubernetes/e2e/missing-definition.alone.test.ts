import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { openTestNamespace } from "../support/workload.ts";
import { startHere } from "./support/program-here.ts";

const definitionName = "sandboxtemplates.extensions.agents.x-k8s.io";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

it("waits for a missing definition, logs it, and starts to work once it exists", async () => {
  await using test = await openTestNamespace(cluster);
  const definition = JSON.parse(await cluster.kubectl.run(["get", "crd", definitionName, "--output=json"]));
  const { labels, annotations } = definition.metadata;
  await cluster.kubectl.run(["delete", "crd", definitionName]);
  const putBack = () =>
    cluster.kubectl.apply([{ ...definition, metadata: { name: definitionName, labels, annotations } }]);
  try {
    const ownLease = `--leader-election-namespace=${test.namespace}`;
    const flags = [`--kubeconfig=${inject("kubeconfig")}`, ownLease, "--enable-webhook=false", "--extensions"];
    await using run = startHere("controller", ...flags);
    const waits = /"kind":"SandboxTemplate".*a list or watch failed; retrying/;
    await eventually(() => waits.test(run.said()));
    expect(run.said()).not.toContain("starting to work");
    await putBack();
    await eventually(() => run.said().includes("the stores that Sandboxes need are filled; starting workers"), 60_000);
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
  } finally {
    await putBack();
  }
});
