import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type Container,
  configMapType,
  type PodSpec,
  podType,
  secretType,
  serviceType,
} from "../../../api/kinds/core.ts";
import {
  aScript,
  conditionOf,
  idle,
  type LocalNode,
  openLocalNode,
  readPodLog,
} from "../../../test/support/labs/local-node.ts";
import { hasProc } from "../process/proc.ts";

/** The output of a script that runs to its end. */
async function outputOf(
  node: LocalNode,
  script: string,
  container: Partial<Container> = {},
  spec: Partial<PodSpec> = {},
) {
  await node.createPod("nova", { restartPolicy: "Never", containers: [aScript(script, container)], ...spec });
  const pod = await node.podOnce("nova", ({ status }) => expect(["Succeeded", "Failed"]).toContain(status?.phase));
  return readPodLog(node, pod);
}

const waitingOf = (node: LocalNode, reason: string) =>
  node.podOnce("nova", ({ status }) => expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe(reason));

describe("the environment of a starting container", () => {
  it("is its address, in the environment and in its arguments", async () => {
    await using node = await openLocalNode();
    const script = "console.log(process.argv[1] === process.env.POD_IP, process.argv[2])";
    const container = { command: [process.execPath, "-e", script, "$(POD_IP)", "$$(POD_IP)"] };
    expect(await outputOf(node, "", container)).toBe("true $(POD_IP)\n");
  });

  it("has only the usual variables of the runtime's environment", async () => {
    const environment = { PATH: "/usr/bin:/bin", HOME: "/home/nova", TOKEN: "secret", KUBECONFIG: "/secret" };
    await using node = await openLocalNode({ environment });
    const printed = await outputOf(node, "console.log(Object.keys(process.env).sort().join())");
    expect(printed).toBe("HOME,PATH,POD_IP,ROUSE_CONTAINER_RUN\n");
  });

  it.each([
    [true, "127.96.0.7:6379"],
    [false, "undefined:undefined"],
  ])(
    "is where the Services of its namespace are, if enableServiceLinks is %s",
    async (enableServiceLinks, expected) => {
      await using node = await openLocalNode();
      const spec = { clusterIP: "127.96.0.7", ports: [{ port: 6379 }] };
      await node.client.create(serviceType, { metadata: { namespace: "default", name: "my-redis" }, spec });
      const elsewhere = { namespace: "kube-system", name: "other" };
      await node.client.create(serviceType, { metadata: elsewhere, spec: { ports: [{ port: 1 }] } });
      const script = `const { MY_REDIS_SERVICE_HOST: host, MY_REDIS_SERVICE_PORT: port, OTHER_PORT = "" } = process.env;
      console.log(\`\${host}:\${port}\${OTHER_PORT}\`)`;
      // The node may not have seen the Service yet.
      await expect
        .poll(
          async () => {
            const printed = await outputOf(node, script, {}, { enableServiceLinks });
            await node.client.delete(podType, { namespace: "default", name: "nova" }, { gracePeriodSeconds: 0 });
            return printed;
          },
          { timeout: 10_000 },
        )
        .toBe(`${expected}\n`);
    },
  );

  it("has the values of ConfigMaps and Secrets", async () => {
    await using node = await openLocalNode();
    const metadata = { namespace: "default", name: "settings" };
    await node.client.create(configMapType, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { COLOR: "red" } });
    const data = { password: Buffer.from("s3cret").toString("base64") };
    await node.client.create(secretType, { apiVersion: "v1", kind: "Secret", metadata, data });
    const printed = await outputOf(node, "console.log(process.env.APP_COLOR, process.env.PASSWORD)", {
      envFrom: [{ prefix: "APP_", configMapRef: { name: "settings" } }],
      env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "settings", key: "password" } } }],
    });
    expect(printed).toBe("red s3cret\n");
  });

  it("waits for a missing ConfigMap, reports this, and starts when it exists", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(idle, { envFrom: [{ configMapRef: { name: "late" } }] })] });
    const pod = await waitingOf(node, "CreateContainerConfigError");
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toBe('configmap "late" not found');
    expect(pod.status?.phase).toBe("Pending");
    const metadata = { namespace: "default", name: "late" };
    await node.client.create(configMapType, { apiVersion: "v1", kind: "ConfigMap", metadata });
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
  });

  it.each(["env", "args"])("is refused when references make it too long: %s", async (where) => {
    await using node = await openLocalNode();
    const env = [{ name: "A0", value: "x".repeat(100_000) }];
    if (where === "env") for (let i = 1; i < 9; i += 1) env.push({ name: `A${i}`, value: `$(A${i - 1})$(A${i - 1})` });
    const args = where === "args" ? ["$(A0)".repeat(30)] : [];
    await node.createPod("nova", { containers: [aScript(idle, { env, args })] });
    const pod = await waitingOf(node, "CreateContainerConfigError");
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toMatch(
      /^the arguments and the environment of container "main" have more than 2097152 bytes/,
    );
  });

  it("has a working directory of its own by default", async () => {
    await using node = await openLocalNode();
    expect(await outputOf(node, "console.log(process.cwd())")).toContain(node.dataDir);
  });

  it("has a directory of the machine as its working directory, if requested", async () => {
    const workingDir = await mkdtemp(join(tmpdir(), "rouse-work-"));
    await using node = await openLocalNode();
    expect(await outputOf(node, "console.log(process.cwd())", { workingDir })).toBe(`${workingDir}\n`);
    await rm(workingDir, { recursive: true });
  });

  it("is refused a working directory that is nowhere", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(idle, { workingDir: "/no/such/place" })] });
    const pod = await waitingOf(node, "CreateContainerError");
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain('workingDir "/no/such/place"');
  });

  // Node's own recursive mkdir never settles there.
  it.runIf(hasProc).each([
    ["hostPath", { hostPath: { path: "/proc/nope/a", type: "DirectoryOrCreate" } }, {}],
    ["workingDir", { hostPath: { path: "/proc" } }, { workingDir: "/data/nope/a" }],
  ])("is refused a folder that the system does not create, of its %s", async (_, volume, container) => {
    await using node = await openLocalNode();
    const mounted = { volumeMounts: [{ name: "data", mountPath: "/data" }], ...container };
    const spec = { volumes: [{ name: "data", ...volume }], containers: [aScript(idle, mounted)] };
    await node.createPod("nova", spec);
    const pod = await waitingOf(node, "CreateContainerError");
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain("ENOENT");
    await node.client.delete(podType, { namespace: "default", name: "nova" });
    await node.gone("nova");
  });

  it("does not keep a Pod from its deletion, nor the runtime from its end, if it is never complete", async () => {
    await using node = await openLocalNode({
      clientOf: (client) => ({
        ...client,
        get: (type, ...rest) => (type.plural === "configmaps" ? new Promise(() => {}) : client.get(type, ...rest)),
      }),
    });
    const env = { envFrom: [{ configMapRef: { name: "settings" } }] };
    for (const name of ["nova", "vega"]) {
      await node.createPod(name, { containers: [aScript(idle, env)] });
      await node.podOnce(name, (pod) => expect(conditionOf(pod, "PodScheduled")?.status).toBe("True"));
    }
    await node.client.delete(podType, { namespace: "default", name: "nova" });
    await node.gone("nova");
    await node.stop();
  });

  it("ends with StartError when the system cannot run it", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { restartPolicy: "Never", containers: [aScript("", { command: ["./not-here"] })] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Failed"));
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      exitCode: 128,
      reason: "StartError",
    });
  });
});

describe("a Pod with a missing program", () => {
  it("stays Pending and names the missing program", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript("", { name: "notebook", command: ["no-such-program"] })] });
    const pod = await node.podOnce("nova", (pod) => expect(conditionOf(pod, "PodScheduled")?.status).toBe("False"));
    expect(pod.status?.phase).toBe("Pending");
    expect(pod.spec?.nodeName).toBeUndefined();
    expect(conditionOf(pod, "PodScheduled")).toMatchObject({
      reason: "Unschedulable",
      message: '0/1 nodes are available: 1 node does not have the program "no-such-program" (container "notebook").',
    });
  });

  it("starts soon after the program was installed", async () => {
    const bin = await mkdtemp(join(tmpdir(), "rouse-bin-"));
    await using node = await openLocalNode({ environment: { PATH: bin } });
    await node.createPod("nova", { containers: [aScript("", { command: ["fresh", "-e", idle] })] });
    await node.podOnce("nova", (pod) => expect(conditionOf(pod, "PodScheduled")?.status).toBe("False"));
    await symlink(process.execPath, join(bin, "fresh"));
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    expect(conditionOf(pod, "PodScheduled")).toMatchObject({ status: "True" });
    expect(conditionOf(pod, "PodScheduled")?.reason).toBeUndefined();
    await rm(bin, { recursive: true });
  });
});

it("a Pod gets a place on a node that has only Pods that have ended, however many", async () => {
  const podsMax = 3;
  await using node = await openLocalNode({ started: false, podsMax });
  const { client } = node;
  const body = { status: { phase: "Succeeded" } };
  await Promise.all(
    Array.from({ length: podsMax }, async (_, at) => {
      const name = `ended-${at}`;
      await node.createPod(name, { nodeName: "local", restartPolicy: "Never", containers: [aScript("")] });
      await client.patch(podType, { namespace: "default", name }, { type: "merge", body }, { subresource: "status" });
    }),
  );
  await node.restart();
  await node.createPod("nova", { containers: [aScript(idle)] });
  const decided = await node.podOnce("nova", (pod) => expect(conditionOf(pod, "PodScheduled")).toBeDefined());
  expect(conditionOf(decided, "PodScheduled")?.status).toBe("True");
});
