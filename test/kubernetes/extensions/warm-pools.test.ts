import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { templateRefHashLabel } from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { claimNamed, openPools, poolNamed, templateNamed } from "./support/pools.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const changed = { env: [{ name: "RELEASE", value: "2" }] };

/** The release that each member of the pool runs. */
async function releasesOf(test: Awaited<ReturnType<typeof openPools>>, pool: string): Promise<readonly string[]> {
  const members = await test.membersOf(pool);
  return members.map(({ spec }) => spec.podTemplate.spec.containers[0]?.env?.[0]?.value ?? "1").sort();
}

describe("a warm pool on a real cluster", () => {
  it("follows kubectl scale in both versions, up, down and to zero", async () => {
    await using test = await openPools(cluster);
    await test.apply(templateNamed("t"), poolNamed("p", 1, "t"));
    await test.untilFull("p", 1);
    await test.run("scale", "sandboxwarmpool/p", "--replicas=3");
    await test.untilFull("p", 3);
    const bornByName = new Map(
      (await test.membersOf("p")).map(({ metadata: { name, creationTimestamp } }) => [name, creationTimestamp]),
    );
    await test.run("scale", "sandboxwarmpools.v1alpha1.extensions.agents.x-k8s.io/p", "--replicas=1");
    await test.untilFull("p", 1);
    // The newest are deleted first; members of the same second have the same age.
    const [left] = await test.membersOf("p");
    expect(bornByName.get(left?.metadata.name ?? "")).toBe([...bornByName.values()].sort()[0]);
    await test.run("scale", "sandboxwarmpool/p", "--replicas=0");
    await test.untilFull("p", 0);
    await eventually(async () => (await test.run("get", "pods", "--output=name")) === "");
  });

  it("has the selector by which a HorizontalPodAutoscaler finds the members' Pods", async () => {
    await using test = await openPools(cluster);
    await test.apply(templateNamed("t"), poolNamed("p", 2, "t"));
    await test.untilFull("p", 2);
    const path = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${test.namespace}/sandboxwarmpools/p/scale`;
    const scale = JSON.parse(await cluster.kubectl.run(["get", "--raw", path]));
    expect(scale.status).toEqual({ replicas: 2, selector: `agents.x-k8s.io/warm-pool-sandbox=${nameHash("p")}` });
    const pods = await test.run("get", "pods", `--selector=${scale.status.selector}`, "--output=name");
    expect(pods.trim().split("\n")).toHaveLength(2);
  });

  it("with Recreate replaces every member when the template's Pod changes", async () => {
    await using test = await openPools(cluster);
    await test.apply(templateNamed("t"), poolNamed("p", 2, "t", { updateStrategy: { type: "Recreate" } }));
    await test.untilFull("p", 2);
    await test.apply(templateNamed("t", {}, changed));
    await eventually(async () => (await releasesOf(test, "p")).join() === "2,2");
    await test.untilFull("p", 2);
  });

  it("with OnReplenish uses the new template only for members that it creates from then on", async () => {
    await using test = await openPools(cluster);
    await test.apply(templateNamed("t"), poolNamed("p", 2, "t", { updateStrategy: { type: "OnReplenish" } }));
    await test.untilFull("p", 2);
    await test.apply(templateNamed("t", {}, changed));
    await test.apply(claimNamed("c", "p"));
    await test.untilBound("c");
    await eventually(async () => (await releasesOf(test, "p")).join() === "1,2");
    const bound = await test.sandbox((await test.claim("c")).status?.sandbox?.name ?? "");
    expect(bound.spec.podTemplate.spec.containers[0]?.env).toBeUndefined();
  });

  it("creates nothing while its template is missing, and fills up once it exists", async () => {
    await using test = await openPools(cluster);
    await test.apply(poolNamed("p", 1, "t"));
    await eventually(async () => (await test.pool("p")).status?.observedGeneration === 1);
    expect(await test.membersOf("p")).toEqual([]);
    await test.apply(templateNamed("t"));
    await test.untilFull("p", 1);
  });
});

describe("a template on a real cluster", () => {
  it("has a NetworkPolicy that changes and is deleted with it", async () => {
    await using test = await openPools(cluster);
    const policy = async () =>
      JSON.parse(
        (await test.run("get", "networkpolicy", "t-network-policy", "--ignore-not-found", "--output=json")) || "null",
      );
    await test.apply(templateNamed("t"));
    await eventually(policy);
    const { spec, metadata } = await policy();
    expect(metadata.ownerReferences).toMatchObject([{ kind: "SandboxTemplate", name: "t", controller: true }]);
    expect(spec).toEqual({
      podSelector: { matchLabels: { [templateRefHashLabel]: nameHash("t") } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "agent-sandbox-system" } },
              podSelector: { matchLabels: { app: "sandbox-router" } },
            },
          ],
        },
      ],
      egress: [
        {
          to: [
            {
              ipBlock: {
                cidr: "0.0.0.0/0",
                except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"],
              },
            },
            { ipBlock: { cidr: "::/0", except: ["fc00::/7", "fe80::/10"] } },
          ],
        },
      ],
    });
    const label = `--output=jsonpath={.metadata.labels.agents\\.x-k8s\\.io/sandbox-template-ref-hash}`;
    expect(await test.run("get", "sandboxtemplate", "t", label)).toBe(nameHash("t"));

    await test.apply(templateNamed("t", { networkPolicy: { egress: [{ ports: [{ port: 443 }] }] } }));
    await eventually(async () => (await policy())?.spec.ingress === undefined);
    expect((await policy()).spec).toMatchObject({
      policyTypes: ["Ingress", "Egress"],
      egress: [{ ports: [{ port: 443, protocol: "TCP" }] }],
    });

    await test.apply(templateNamed("t", { networkPolicyManagement: "Unmanaged" }));
    await eventually(async () => (await policy()) === null);
    await test.apply(templateNamed("t", { networkPolicyManagement: "Managed" }));
    await eventually(policy);
    await test.run("delete", "sandboxtemplate", "t");
    await eventually(async () => (await policy()) === null);
  });

  it("does not change a NetworkPolicy of the same name that another owner has", async () => {
    await using test = await openPools(cluster);
    const theirs = {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "t-network-policy" },
      spec: { podSelector: {}, policyTypes: ["Ingress"] },
    };
    await test.apply(theirs);
    await test.apply(templateNamed("t"));
    const labelled = async () =>
      (await test.run("get", "sandboxtemplate", "t", "--output=json")).includes(nameHash("t"));
    await eventually(labelled);
    const seen = JSON.parse(await test.run("get", "networkpolicy", "t-network-policy", "--output=json"));
    expect(seen.spec).toEqual(theirs.spec);
    expect(seen.metadata.ownerReferences).toBeUndefined();
  });
});
