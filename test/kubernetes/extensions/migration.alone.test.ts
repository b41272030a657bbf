import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { customResourceDefinitionType } from "../../../api/kinds/core.ts";
import { run } from "../../../cluster/command.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { readFromEtcd } from "../e2e/support/etcd.ts";
import { sandboxNamed } from "../e2e/support/sandboxes.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { runMigrate } from "./support/migrate.ts";
import { claimNamed, openPools, poolNamed, templateNamed } from "./support/pools.ts";

const definitions = {
  "sandboxes.agents.x-k8s.io": "still",
  "sandboxtemplates.extensions.agents.x-k8s.io": "t",
  "sandboxwarmpools.extensions.agents.x-k8s.io": "p",
  "sandboxclaims.extensions.agents.x-k8s.io": "c",
} as const;

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Makes the API server store new writes in another version. */
async function storeIn(version: "v1alpha1" | "v1beta1"): Promise<void> {
  for (const name of Object.keys(definitions)) {
    const { spec } = JSON.parse(await cluster.kubectl.run(["get", "crd", name, "--output=json"]));
    const versions = spec.versions.map((each: { readonly name: string }) => ({
      ...each,
      storage: each.name === version,
    }));
    const patch = [{ op: "replace", path: "/spec/versions", value: versions }];
    await cluster.client.patch(customResourceDefinitionType, { name }, { type: "json", body: patch });
  }
}

async function storedVersionOf(definition: string, namespace: string, name: string): Promise<string | undefined> {
  const [plural, ...group] = definition.split(".");
  const text = await readFromEtcd(`/registry/${group.join(".")}/${plural}/${namespace}/${name}`);
  return /"apiVersion":"[^"/]+\/([^"]+)"/.exec(text)?.[1];
}

const storedVersions = (namespace: string) =>
  Promise.all(Object.entries(definitions).map(([each, name]) => storedVersionOf(each, namespace, name)));

/** The changes of an upgrade that disables v1alpha1. */
const withoutV1alpha1 = () =>
  run(inject("helm"), [
    ...["upgrade", release.name, join(import.meta.dirname, "..", "..", "..", "charts", "rouse")],
    ...["--reuse-values", "--set=v1alpha1.enabled=false", "--dry-run=server"],
    ...[`--kubeconfig=${inject("kubeconfig")}`, `--namespace=${release.namespace}`],
  ]);

interface ShownObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
  readonly status?: { readonly conditions?: readonly object[] };
}

it("rewrites objects stored in v1alpha1 without a change of a Pod, a spec or a condition in v1alpha1", async () => {
  await using test = await openPools(cluster);
  const shown = async () => {
    const kinds = Object.keys(definitions).map((each) => each.replace(".", ".v1alpha1."));
    const { items } = JSON.parse(await test.run("get", kinds.join(), "--output=json"));
    return items.map(({ kind, metadata, spec, status }: ShownObject) => {
      return { kind, name: metadata.name, spec, conditions: status?.conditions };
    });
  };
  // The older version has no observedGeneration, so it is absent while that version is stored.
  const untilReady = () =>
    eventually(
      async () => (await test.pool("p")).status?.readyReplicas === 1 && (await test.membersOf("p")).length === 1,
    );
  await storeIn("v1alpha1");
  try {
    // The API server applies a changed definition a moment after its response.
    await eventually(async () => {
      await test.apply(templateNamed("t", { service: false }));
      await test.run("annotate", "sandboxtemplate", "t", "--overwrite", `touched=${crypto.randomUUID()}`);
      const stored = await storedVersionOf("sandboxtemplates.extensions.agents.x-k8s.io", test.namespace, "t");
      return stored === "v1alpha1";
    });
    await test.apply(poolNamed("p", 1, "t"), sandboxNamed("still"));
    await untilReady();
    await test.apply(claimNamed("c", "p"));
    await test.untilBound("c");
    await test.untilAsleep("still");
    await untilReady();
    expect(await storedVersions(test.namespace)).toEqual(["v1alpha1", "v1alpha1", "v1alpha1", "v1alpha1"]);
  } finally {
    await storeIn("v1beta1");
  }
  // The status of the others may have been written since then, because v1beta1 has more of it.
  expect(await storedVersionOf("sandboxtemplates.extensions.agents.x-k8s.io", test.namespace, "t")).toBe("v1alpha1");
  const before = await shown();
  const pods = await test.run("get", "pods", "--output=jsonpath={.items[*].metadata.uid}");

  expect(await runMigrate("--phase=migrate")).toContain("all objects are stored in v1beta1");
  expect(await storedVersions(test.namespace)).toEqual(["v1beta1", "v1beta1", "v1beta1", "v1beta1"]);
  expect(await shown()).toEqual(before);
  expect(await test.run("get", "pods", "--output=jsonpath={.items[*].metadata.uid}")).toBe(pods);
  // The API server assumes that objects may be stored in the older version until the definition says otherwise.
  await expect(withoutV1alpha1()).rejects.toThrow("may still be stored in v1alpha1. Nothing was changed");
  for (const name of Object.keys(definitions)) {
    const patch = '--patch={"status":{"storedVersions":["v1beta1"]}}';
    await cluster.kubectl.run(["patch", "crd", name, "--subresource=status", "--type=merge", patch]);
  }
  expect(await withoutV1alpha1()).toContain("--enable-webhook=false");
}, 120_000);
