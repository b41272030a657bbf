import { expect, it } from "vitest";
import { persistentVolumeClaimType, podType } from "../api/kinds/core.ts";
import { keyFor } from "../api/kinds/meta.ts";
import type { PodSpec } from "../api/kinds/pod.ts";
import { silentLogger } from "../lib/log/log.ts";
import { systemClock } from "../lib/time/clock.ts";
import { openMemoryApi } from "../test/support/memory-api.ts";
import { startInformers } from "./start-informers.ts";

const containers = [{ name: "main", image: "busybox", ports: [{ name: "ctl", containerPort: 9000 }] }];

it("the declared ports of a Pod are kept where it has the address of its node, and nowhere else", async () => {
  await using api = await openMemoryApi();
  const { client } = api;
  const make = (name: string, spec: PodSpec) =>
    client.create(podType, { apiVersion: "v1", kind: "Pod", metadata: { namespace: "default", name }, spec });
  await make("of-node", { containers, hostNetwork: true, nodeName: "node-1" });
  await make("usual", { containers, nodeName: "node-1" });
  const parts = { client, clock: systemClock, log: silentLogger };
  await using informers = startInformers({ ...parts, trackedOnly: false, tcpFronts: false });
  await informers.synced;
  const specOf = (name: string) => informers.pods.store.get(keyFor("default", name))?.spec;
  const kept = [{ name: "main", ports: [{ name: "ctl", containerPort: 9000 }] }];
  expect(specOf("of-node")).toMatchObject({ hostNetwork: true, containers: kept });
  expect(specOf("of-node")?.containers[0]).not.toHaveProperty("image");
  expect(specOf("usual")).toEqual({ containers: [], nodeName: "node-1" });
});

it("only the owners and labels of a volume claim are kept, not the annotations of other programs", async () => {
  await using api = await openMemoryApi();
  const { client } = api;
  const labels = { app: "database" };
  const metadata = { namespace: "default", name: "data", labels, annotations: { note: "x".repeat(200_000) } };
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  const created = await client.create(persistentVolumeClaimType, { metadata, spec });
  const parts = { client, clock: systemClock, log: silentLogger };
  await using informers = startInformers({ ...parts, trackedOnly: false, tcpFronts: false });
  await informers.synced;
  const { uid, resourceVersion } = created.metadata;
  const stored = informers.claims.store.get(keyFor("default", "data"));
  expect(stored?.metadata).toMatchObject({ name: "data", namespace: "default", uid, resourceVersion, labels });
  expect(stored?.metadata).not.toHaveProperty("annotations");
  expect(stored).not.toHaveProperty("spec");
});

it("what speaks against keeping the memory of a Pod is kept, and no more", async () => {
  await using api = await openMemoryApi();
  const { client } = api;
  const hooked = { name: "hooked", image: "busybox", lifecycle: { postStart: { exec: { command: ["true"] } } } };
  const spec = {
    containers: [...containers, hooked],
    initContainers: [{ name: "first", image: "busybox" }],
    runtimeClassName: "gvisor",
    nodeName: "node-1",
  };
  await client.create(podType, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name: "nova" },
    spec,
  });
  const parts = { client, clock: systemClock, log: silentLogger };
  await using informers = startInformers({ ...parts, trackedOnly: false, tcpFronts: false });
  await informers.synced;
  expect(informers.pods.store.get(keyFor("default", "nova"))?.spec).toEqual({
    containers: [{ name: "hooked", lifecycle: { postStart: {} } }],
    initContainers: [{ name: "first" }],
    runtimeClassName: "gvisor",
    nodeName: "node-1",
  });
});
