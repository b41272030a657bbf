import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { type MemoryImage, memoryImageType } from "../../api/kinds/memory-image.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { ChildProgram } from "../../test/programs/child-program.ts";
import { writeKubeconfig } from "../../test/programs/kubeconfig.ts";
import { imageOf, NodeLab, podOf, stateOf } from "../../test/support/labs/node-lab.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";

const patience = { timeout: 30_000, interval: 10 };
const g1 = { namespace: "default", name: "g1" };

/** An API server, a node with one Pod, and the agent as a process. */
async function open() {
  const stack = new AsyncDisposableStack();
  const api = stack.use(await openMemoryApi());
  const lab = stack.use(new NodeLab());
  const folder = mkdtempSync(join(tmpdir(), "rouse-agent-"));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const containers = [{ name: "main", image: "busybox" }];
  const sandbox = {
    metadata: { namespace: "default", name: "guest" },
    spec: { podTemplate: { spec: { containers } } },
  };
  const sandboxUID = (await api.client.create(sandboxType, sandbox)).metadata.uid;
  const { metadata, ...pod } = podOf(lab, "", undefined, sandboxUID);
  const { uid: _, ...named } = metadata;
  const stored = await api.client.create(podType, { ...pod, metadata: named });
  const { status } = pod;
  await api.client.patch(
    podType,
    { namespace: "default", name: "guest" },
    { type: "merge", body: { status } },
    { subresource: "status" },
  );
  const guest = await lab.startPod({ uid: stored.metadata.uid });
  await api.client.create(memoryImageType, imageOf(lab, guest.uid, { sandboxUID }));
  const flags = [
    `--kubeconfig=${writeKubeconfig(folder, api.url)}`,
    `--node-name=${lab.nodeName}`,
    "--namespace=agent-sandbox-system",
    `--runsc=${lab.runsc.program}`,
    `--runsc-root=${lab.runsc.root}`,
    `--store=${lab.storeRoot}`,
    "--min-free-bytes=0",
    "--min-free-percent=0",
    "--metrics-bind-address=127.0.0.1:0",
    "--health-probe-bind-address=127.0.0.1:0",
  ];
  return {
    ...{ api, lab, guest },
    start: () => stack.use(new ChildProgram("node/agent/main.ts", flags)),
    status: async () => (await api.client.get<MemoryImage>(memoryImageType, g1)).status,
    setStage: () => api.client.patch(memoryImageType, g1, { type: "merge", body: { spec: { stage: "Capture" } } }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe("the node agent as a process", () => {
  it("answers the preflight, captures, and removes the image when its object is deleted", async () => {
    await using world = await open();
    const agent = world.start();
    const { health, metrics } = await agent.started;
    await vi.waitFor(async () => expect((await world.status())?.preflight?.capturable).toBe(true), patience);
    expect((await fetch(`${health}/readyz`)).status).toBe(200);
    await world.setStage();
    await vi.waitFor(async () => expect((await world.status())?.phase).toBe("Captured"), patience);
    expect(stateOf(world.guest.sentry)).toBe("T");
    expect(await (await fetch(`${metrics}/metrics`)).text()).toContain("rouse_node_captures_total 1");

    await world.api.client.delete(podType, { namespace: "default", name: "guest" }, { gracePeriodSeconds: 0 });
    await vi.waitFor(() => expect(stateOf(world.guest.sentry)).not.toBe("T"), patience);
    expect(world.lab.has("images/default/guest/g1/image.json")).toBe(true);
    await world.api.client.delete(memoryImageType, g1);
    await vi.waitFor(() => expect(world.lab.files()).toEqual([]), patience);
  });

  it("that is killed during a capture leaves the Pod frozen, and the next one lets it run again", async () => {
    await using world = await open();
    using hang = world.lab.letFail("checkpoint", "hangs");
    const first = world.start();
    await world.setStage();
    await vi.waitFor(() => expect(world.lab.has("images/default/guest/g1.part")).toBe(true), patience);
    await first.kill();
    expect(stateOf(world.guest.sentry)).toBe("T");
    hang[Symbol.dispose]();
    world.start();
    await vi.waitFor(
      async () => expect(await world.status()).toMatchObject({ phase: "Failed", reason: "Interrupted" }),
      patience,
    );
    expect(stateOf(world.guest.sentry)).not.toBe("T");
    await vi.waitFor(() => expect(world.lab.files()).toEqual([]), patience);
  });
});
