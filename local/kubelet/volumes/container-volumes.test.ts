import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  configMapType,
  type PodSpec,
  persistentVolumeClaimType,
  podType,
  secretType,
} from "../../../api/kinds/core.ts";
import {
  aScript,
  conditionOf,
  idle,
  type LocalNode,
  openLocalNode,
  readPodLog,
} from "../../../test/support/labs/local-node.ts";

const inDefault = (name: string) => ({ namespace: "default", name });

function createClaim({ client }: LocalNode, name: string) {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
  const object = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: inDefault(name), spec };
  return client.create(persistentVolumeClaimType, object);
}

/** Runs a script to its end with a volume at `/data`, and returns its output. */
async function outputWith(node: LocalNode, volume: object, script: string, name = "nova"): Promise<string> {
  const spec: PodSpec = {
    restartPolicy: "Never",
    volumes: [{ name: "my-data", ...volume }],
    containers: [aScript(script, { workingDir: "/data/sub", volumeMounts: [{ name: "my-data", mountPath: "/data" }] })],
  };
  await node.createPod(name, spec);
  const pod = await node.podOnce(name, ({ status }) => expect(["Succeeded", "Failed"]).toContain(status?.phase));
  return readPodLog(node, pod);
}

const count = `
  const fs = require("fs");
  const file = process.env.ROUSE_VOLUME_MY_DATA + "/count";
  const count = fs.existsSync(file) ? Number(fs.readFileSync(file, "utf8")) + 1 : 1;
  fs.writeFileSync(file, String(count));
  console.log(count);`;

describe("a volume", () => {
  it("is named in the environment, and is the working directory at or below its mount path", async () => {
    await using node = await openLocalNode();
    const script = `console.log(process.cwd() === require("path").join(process.env.ROUSE_VOLUME_MY_DATA, "sub"))`;
    expect(await outputWith(node, { emptyDir: {} }, script)).toBe("true\n");
  });

  it("of a claim outlives the Pod, and is bound", async () => {
    await using node = await openLocalNode();
    await createClaim(node, "data");
    const volume = { persistentVolumeClaim: { claimName: "data" } };
    expect(await outputWith(node, volume, count, "first")).toBe("1\n");
    await node.client.delete(podType, inDefault("first"));
    await node.gone("first");
    expect(await outputWith(node, volume, count, "second")).toBe("2\n");
    const claim = await node.client.get(persistentVolumeClaimType, inDefault("data"));
    expect(claim).toMatchObject({
      spec: { volumeName: `pvc-${claim.metadata.uid}` },
      status: { phase: "Bound", capacity: { storage: "1Mi" } },
    });
  });

  it("of a claim is removed when the claim and the last Pod that uses it are gone", async () => {
    await using node = await openLocalNode();
    const claim = await createClaim(node, "data");
    await node.createPod("nova", {
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      containers: [aScript(idle)],
    });
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await node.client.delete(persistentVolumeClaimType, inDefault("data"));
    const volumes = () => readdir(join(node.dataDir, "volumes"));
    expect(await volumes()).toContain(claim.metadata.uid);
    await node.client.delete(podType, inDefault("nova"));
    await node.gone("nova");
    await expect.poll(volumes).toEqual([]);
  });

  it("of a claim that was deleted while a Pod used it goes at the next start if local mode ends first", async () => {
    await using node = await openLocalNode();
    const kept = await createClaim(node, "kept");
    const { metadata } = await createClaim(node, "data");
    const volume = (claimName: string) => ({ name: claimName, persistentVolumeClaim: { claimName } });
    await node.createPod("nova", { volumes: [volume("kept"), volume("data")], containers: [aScript(idle)] });
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    const volumes = () => readdir(join(node.dataDir, "volumes"));
    await node.client.delete(persistentVolumeClaimType, inDefault("data"));
    await expect.poll(volumes).toContain(`${metadata.uid}.deleting`);
    await node.stop();
    // The mark of a claim that there is says nothing.
    await writeFile(join(node.dataDir, "volumes", `${kept.metadata.uid}.deleting`), "");
    await node.restart();
    await expect.poll(volumes).toEqual([kept.metadata.uid]);
  });

  it("of a claim is removed at the next start if local mode ends right after the deletion", async () => {
    await using node = await openLocalNode();
    const { client } = node;
    await createClaim(node, "data");
    await outputWith(node, { persistentVolumeClaim: { claimName: "data" } }, count);
    await node.stop();
    // As it is after `kill -9`: nothing but the API server knows of the deletion.
    await client.delete(persistentVolumeClaimType, inDefault("data"));
    await node.restart();
    await expect.poll(() => readdir(join(node.dataDir, "volumes"))).toEqual([]);
    await expect.poll(() => client.list(persistentVolumeClaimType, {})).toMatchObject({ items: [] });
  });

  it("of a claim keeps the deleted claim until no running Pod uses it", async () => {
    await using node = await openLocalNode();
    const { client } = node;
    await createClaim(node, "data");
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    const done = node.createPod("done", { volumes, restartPolicy: "Never", containers: [aScript("")] });
    await Promise.all([done, node.createPod("nova", { volumes, containers: [aScript(idle)] })]);
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await node.podOnce("done", ({ status }) => expect(status?.phase).toBe("Succeeded"));
    await client.delete(persistentVolumeClaimType, inDefault("data"));
    const claim = await client.get(persistentVolumeClaimType, inDefault("data"));
    expect(claim.metadata).toMatchObject({
      deletionTimestamp: expect.any(String),
      finalizers: ["kubernetes.io/pvc-protection"],
    });
    await client.delete(podType, inDefault("nova"));
    await expect.poll(() => client.list(persistentVolumeClaimType, {})).toMatchObject({ items: [] });
    await expect.poll(() => readdir(join(node.dataDir, "volumes"))).toEqual([]);
  });

  it("is that of the claim that exists, also if the watch of claims still tells of a deleted one", async () => {
    const late = Promise.withResolvers<void>();
    let isLate = false;
    await using node = await openLocalNode({
      clientOf: (client) => ({
        ...client,
        async *watch(type, ...rest) {
          for await (const event of client.watch(type, ...rest)) {
            if (isLate && type.plural === persistentVolumeClaimType.plural) await late.promise;
            yield event;
          }
        },
      }),
    });
    const volume = { persistentVolumeClaim: { claimName: "data" } };
    await createClaim(node, "data");
    expect(await outputWith(node, volume, count, "first")).toBe("1\n");
    isLate = true;
    await node.client.delete(persistentVolumeClaimType, inDefault("data"));
    const forced = { type: "merge", body: { metadata: { finalizers: null } } } as const;
    await node.client.patch(persistentVolumeClaimType, inDefault("data"), forced);
    const { metadata } = await createClaim(node, "data");
    expect(await outputWith(node, volume, count, "second")).toBe("1\n");

    late.resolve();
    for (const name of ["first", "second"]) await node.client.delete(podType, inDefault(name));
    await expect.poll(() => readdir(join(node.dataDir, "volumes")), { timeout: 10_000 }).toEqual([metadata.uid]);
  });

  it("of a claim that is being deleted starts no Pod", async () => {
    await using node = await openLocalNode();
    const { client } = node;
    await createClaim(node, "data");
    const held = { metadata: { finalizers: ["example.com/held"] } };
    await client.patch(persistentVolumeClaimType, inDefault("data"), { type: "merge", body: held });
    await client.delete(persistentVolumeClaimType, inDefault("data"));
    await node.createPod("nova", {
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      containers: [aScript(idle)],
    });
    const pod = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]?.state?.waiting?.message).toBeDefined(),
    );
    const { waiting } = pod.status?.containerStatuses?.[0]?.state ?? {};
    expect(waiting).toEqual({
      reason: "ContainerCreating",
      message: 'persistentvolumeclaim "data" is being deleted',
    });
  });

  it("of a claim that is not there keeps the Pod from being scheduled until it comes", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", {
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "late" } }],
      containers: [aScript(idle)],
    });
    const pod = await node.podOnce("nova", (pod) => expect(conditionOf(pod, "PodScheduled")?.status).toBe("False"));
    expect(conditionOf(pod, "PodScheduled")?.message).toContain('persistentvolumeclaim "late" not found');
    await createClaim(node, "late");
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
  });

  it("of a Pod goes with the Pod", async () => {
    await using node = await openLocalNode();
    await outputWith(node, { emptyDir: {} }, count);
    await node.client.delete(podType, inDefault("nova"));
    await node.gone("nova");
    await expect.poll(() => readdir(join(node.dataDir, "pods"))).toEqual([]);
    await expect.poll(() => readdir(join(node.dataDir, "logs"))).toEqual([]);
  });

  it("of a ConfigMap holds its files", async () => {
    await using node = await openLocalNode();
    const data = { "a.txt": "A", "b.txt": "B" };
    await node.client.create(configMapType, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: inDefault("files"),
      data,
    });
    const script = `console.log(require("fs").readdirSync("..").sort().join(), require("fs").readFileSync("../a.txt", "utf8"))`;
    expect(await outputWith(node, { configMap: { name: "files" } }, script)).toBe("a.txt,b.txt,sub A\n");
  });

  it("of a Secret has the requested items, with their modes", async () => {
    await using node = await openLocalNode();
    const data = { key: Buffer.from("k").toString("base64"), other: "" };
    await node.client.create(secretType, { apiVersion: "v1", kind: "Secret", metadata: inDefault("keys"), data });
    const items = [{ key: "key", path: "deep/key.pem", mode: 0o400 }];
    const script = `
      const fs = require("fs");
      console.log(fs.readdirSync("..").sort().join(), fs.readFileSync("../deep/key.pem", "utf8"), (fs.statSync("../deep/key.pem").mode & 0o777).toString(8))`;
    expect(await outputWith(node, { secret: { secretName: "keys", items } }, script)).toBe("deep,sub k 400\n");
  });

  it("of a ConfigMap is refused when its items repeat a key until the files are too large", async () => {
    await using node = await openLocalNode();
    const data = { large: "x".repeat(1_000_000) };
    await node.client.create(configMapType, { metadata: inDefault("files"), data });
    const items = Array.from({ length: 70 }, (_, i) => ({ key: "large", path: `file-${i}` }));
    await node.createPod("nova", {
      volumes: [{ name: "files", configMap: { name: "files", items } }],
      containers: [aScript(idle)],
    });
    const pod = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("CreateContainerConfigError"),
    );
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain("have more than 67108864 bytes");
  });

  it("of a kind that is not here is refused by name", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", {
      volumes: [{ name: "odd", ...{ nfs: { server: "x", path: "/" } } }],
      containers: [aScript(idle)],
    });
    const pod = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("CreateContainerConfigError"),
    );
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain("nfs");
  });
});
