import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { runMigrate } from "./support/migrate.ts";
import { openPools } from "./support/pools.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const older = "sandboxes.v1alpha1.agents.x-k8s.io";

const podTemplate = `
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: busybox:1.36
          command: [sh, -c, "exec sleep 3600"]
`;

/** In the form of manifests of that time. */
const oldSandbox = (name: string, rest = "") => `
apiVersion: agents.x-k8s.io/v1alpha1
kind: Sandbox
metadata:
  name: ${name}
spec:${rest}${podTemplate}`;

const oldTemplate = `
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: SandboxTemplate
metadata:
  name: my-template
spec:${podTemplate}`;

const oldPool = `
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: SandboxWarmPool
metadata:
  name: my-pool
spec:
  replicas: 1
  sandboxTemplateRef:
    name: my-template
`;

const oldClaim = (name: string, warmpool?: string) => `
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: SandboxClaim
metadata:
  name: ${name}
spec:
  sandboxTemplateRef:
    name: my-template
${warmpool === undefined ? "" : `  warmpool: ${warmpool}\n`}`;

const open = () => openPools(cluster);

describe("a v1alpha1 manifest of a Sandbox", () => {
  it("with only a podTemplate runs, is paused and resumed by kubectl scale, and is deleted with its Pod", async () => {
    await using test = await open();
    const field = (type: string, path: string) => test.run("get", type, "plain", `--output=jsonpath={${path}}`);
    await test.applyManifest(oldSandbox("plain"));
    await test.run("wait", "sandbox/plain", "--for=condition=Ready", "--timeout=60s");
    expect(await field(older, ".spec.replicas")).toBe("1");

    await test.run("scale", `${older}/plain`, "--replicas=0");
    await test.untilAsleep("plain");
    expect(await test.podOf("plain")).toBeUndefined();
    expect(await field("sandbox", ".spec.operatingMode")).toBe("Suspended");
    expect(await field(older, ".spec.replicas")).toBe("0");

    await test.run("scale", `${older}/plain`, "--replicas=1");
    await test.run("wait", "sandbox/plain", "--for=condition=Ready", "--timeout=60s");
    expect(await field("sandbox", ".spec.operatingMode")).toBe("Running");
    expect(await field(older, ".metadata.annotations")).not.toContain("v1alpha1-sandbox-state");

    await test.run("delete", older, "plain", "--timeout=60s");
    await eventually(async () => (await test.podOf("plain")) === undefined);
  });

  it("with volumes keeps its files during a pause", async () => {
    await using test = await open();
    const volumes = `
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 1Mi`;
    const manifest = oldSandbox("keeper", volumes);
    await test.applyManifest(`${manifest}          volumeMounts:\n            - {name: data, mountPath: /data}\n`);
    await test.run("wait", "sandbox/keeper", "--for=condition=Ready", "--timeout=60s");
    await test.run("exec", "keeper", "--", "sh", "-c", "echo kept > /data/file");
    await test.run("scale", `${older}/keeper`, "--replicas=0");
    await test.untilAsleep("keeper");
    await test.run("scale", `${older}/keeper`, "--replicas=1");
    await test.run("wait", "sandbox/keeper", "--for=condition=Ready", "--timeout=60s");
    expect(await test.run("exec", "keeper", "--", "cat", "/data/file")).toBe("kept\n");
    expect(await test.exists("persistentvolumeclaim", "data-keeper")).toBe(true);
  });

  it("with replicas 0 has no Pod until it is patched to 1, and is a suspended sandbox in v1beta1", async () => {
    await using test = await open();
    await test.applyManifest(oldSandbox("resting", "\n  replicas: 0"));
    await test.untilAsleep("resting");
    expect(await test.podOf("resting")).toBeUndefined();
    // The same manifest is applied again without a change.
    expect(await test.applyManifest(oldSandbox("resting", "\n  replicas: 0"))).toContain("unchanged");
    await test.run("patch", older, "resting", "--type=merge", '--patch={"spec":{"replicas":1}}');
    await test.run("wait", "sandbox/resting", "--for=condition=Ready", "--timeout=60s");
    await test.run("wait", `${older}/resting`, "--for=condition=Ready", "--timeout=60s");
  });
});

describe("a v1alpha1 manifest of a claim", () => {
  it("that names a pool gets a sandbox of that pool", async () => {
    await using test = await open();
    await test.applyManifest([oldTemplate, oldPool].join("---"));
    await test.untilFull("my-pool", 1);
    const [member] = await test.membersOf("my-pool");
    await test.applyManifest(oldClaim("mine", "my-pool"));
    await test.untilBound("mine");
    expect((await test.claim("mine")).status?.sandbox?.name).toBe(member?.metadata.name);
    await test.untilFull("my-pool", 1);
  });

  it("without a pool gets a sandbox of its template, and keeps both when the migration creates a pool", async () => {
    await using test = await open();
    await test.applyManifest(oldClaim("cold", "none"));
    await eventually(async () => (await test.claimCondition("cold", "Ready"))?.reason === "TemplateNotFound");
    await test.applyManifest([oldTemplate, oldClaim("silent")].join("---"));
    await test.untilBound("cold", "silent");
    expect(await runMigrate("--phase=bootstrap", `--namespace=${test.namespace}`)).toContain("shadow-pool-my-template");
    expect((await test.claim("cold")).spec.warmPoolRef.name).toBe("shadow-pool-my-template");
    expect((await test.claim("cold")).status?.sandbox?.name).toBe("cold");
    const older = "sandboxclaims.v1alpha1.extensions.agents.x-k8s.io";
    const spoken = JSON.parse(await test.run("get", older, "cold", "--output=json"));
    expect(spoken.spec).toMatchObject({ sandboxTemplateRef: { name: "my-template" }, warmpool: "none" });
    expect((await test.membersOf("shadow-pool-my-template")).length).toBe(0);
  });
});

it("lists 300 sandboxes in v1alpha1 in one call, each with its values", async () => {
  await using test = await open();
  const names = Array.from({ length: 300 }, (_, at) => `one-of-many-${at}`);
  await test.applyManifest(
    names.map((name, at) => oldSandbox(name, `\n  replicas: ${at % 300 === 7 ? 1 : 0}`)).join("---"),
  );
  const url = `${cluster.url}/apis/agents.x-k8s.io/v1alpha1/namespaces/${test.namespace}/sandboxes`;
  const { items } = (await (await cluster.fetch(url)).json()) as {
    items: { metadata: { name: string }; spec: { replicas: number } }[];
  };
  expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(names.sort());
  expect(items.filter(({ spec }) => spec.replicas === 1).map(({ metadata }) => metadata.name)).toEqual([
    "one-of-many-7",
  ]);
});
