import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { release } from "../../cluster/release/install-chart.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";
import { openTestNamespace } from "./support/workload.ts";

let cluster: ClusterUnderTest;
let asActivator: (
  method: string,
  path: string,
  body?: object,
  type?: string,
) => Promise<{ code: number; text: string }>;

beforeAll(async () => {
  cluster = await connectToCluster();
  const token = (
    await cluster.kubectl.run(["create", "token", "sandbox-router", `--namespace=${release.namespace}`])
  ).trim();
  asActivator = async (method, path, body, type = "application/merge-patch+json") => {
    const response = await cluster.fetchAs(token, `${cluster.url}${path}`, {
      method,
      headers: { "content-type": type },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { code: response.status, text: await response.text() };
  };
});
afterAll(() => cluster[Symbol.asyncDispose]());

const wake = { spec: { operatingMode: "Running" } };

/** A sandbox whose image does not exist. Only the rights on its object matter here. */
const sandbox = (name: string, spec: object = {}) => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name },
  spec: {
    operatingMode: "Suspended",
    podTemplate: { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } },
    ...spec,
  },
});

async function openWithSandbox(spec: object = {}) {
  const test = await openTestNamespace(cluster);
  await test.apply(sandbox("a", spec));
  return { test, path: `/apis/agents.x-k8s.io/v1beta1/namespaces/${test.namespace}/sandboxes/a` };
}

describe("the activator's ServiceAccount", () => {
  it("may wake a sandbox", async () => {
    const { test, path } = await openWithSandbox();
    await using _ = test;
    expect(await asActivator("PATCH", path, wake)).toMatchObject({ code: 200 });
  });

  it("may not wake a sandbox with the trigger Never", async () => {
    const { test, path } = await openWithSandbox({ autoResume: { trigger: "Never" } });
    await using _ = test;
    const { code, text } = await asActivator("PATCH", path, wake);
    expect(code).toBe(422);
    expect(text).toContain("autoResume.trigger Never");
  });

  it("may not suspend", async () => {
    const { test, path } = await openWithSandbox({ operatingMode: "Running" });
    await using _ = test;
    const { code, text } = await asActivator("PATCH", path, { spec: { operatingMode: "Suspended" } });
    expect(code).toBe(422);
    expect(text).toContain("from Suspended to Running only");
  });

  it.each([
    ["spec.podTemplate", { spec: { podTemplate: { spec: { containers: [{ name: "main", image: "evil" }] } } } }],
    ["spec.service", { spec: { service: true } }],
    ["spec.shutdownTime", { spec: { shutdownTime: "2030-01-01T00:00:00Z" } }],
    ["spec.shutdownPolicy", { spec: { shutdownPolicy: "Delete" } }],
    ["spec.autoSuspension", { spec: { autoSuspension: { inactivityTimeoutSeconds: 60 } } }],
    ["spec.suspensionStrategy", { spec: { suspensionStrategy: { type: "Hibernate" } } }],
    ["spec.autoResume", { spec: { autoResume: { timeoutSeconds: 5 } } }],
    ["metadata.labels", { metadata: { labels: { mine: "true" } } }],
    ["metadata.annotations", { metadata: { annotations: { mine: "true" } } }],
    ["metadata.finalizers", { metadata: { finalizers: ["rouse.dev/mine"] } }],
  ])("may not change %s while it wakes", async (what, change) => {
    const { test, path } = await openWithSandbox();
    await using _ = test;
    const spec = { ...wake.spec, ...("spec" in change ? change.spec : {}) };
    const { code, text } = await asActivator("PATCH", path, { ...change, spec });
    expect(code).toBe(422);
    expect(text).toContain(what);
  });

  it("may not wake through the older version if the newer one forbids it", async () => {
    const { test, path } = await openWithSandbox({ autoResume: { trigger: "Never" } });
    await using _ = test;
    const { code, text } = await asActivator("PATCH", path.replace("v1beta1", "v1alpha1"), { spec: { replicas: 1 } });
    expect(code).toBe(422);
    expect(text).toContain("autoResume.trigger Never");
  });

  it.each([
    ["DELETE", "", undefined],
    ["PUT", "", sandbox("a")],
    ["PATCH", "/status", { status: { service: "mine" } }],
  ])("may not %s a sandbox%s", async (method, subresource, body) => {
    const { test, path } = await openWithSandbox();
    await using _ = test;
    expect(await asActivator(method, `${path}${subresource}`, body)).toMatchObject({ code: 403 });
  });

  it.each([
    ["GET", "/api/v1/secrets"],
    ["GET", "/api/v1/namespaces/default/configmaps"],
    ["DELETE", "/api/v1/namespaces/default/pods/any"],
    ["GET", "/apis/apps/v1/deployments"],
  ])("may not %s %s", async (method, path) => {
    expect(await asActivator(method, path)).toMatchObject({ code: 403 });
  });
});

it.each(["sandbox-router-may-only-wake", "sandbox-router-may-only-wake-by-name"])(
  "the policy %s names every field of a Sandbox's spec",
  async (name) => {
    const policy = JSON.parse(await cluster.kubectl.run(["get", "validatingadmissionpolicy", name, "--output=json"]));
    const definition = JSON.parse(
      await cluster.kubectl.run(["get", "crd", `${sandboxType.plural}.agents.x-k8s.io`, "--output=json"]),
    );
    const stored = definition.spec.versions.find(({ storage }: { storage: boolean }) => storage);
    const expressions = policy.spec.validations.map(({ expression }: { expression: string }) => expression).join("\n");
    const fields = Object.keys(stored.schema.openAPIV3Schema.properties.spec.properties);
    expect(fields.filter((field) => !new RegExp(`object\\.spec\\.\\??${field}\\b`).test(expressions))).toEqual([]);
  },
);
