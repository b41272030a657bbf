import { expect, it } from "vitest";
import { type ConfigMap, configMapType, podType } from "../../../api/kinds/core.ts";
import { aScript, idle, type LocalNode, openLocalNode } from "../../../test/support/labs/local-node.ts";
import { LaunchMemory } from "./launch-memory.ts";

const launchOf = (bytes: number) => ({
  ...{ program: "/bin/true", argv: ["true"], workingDirectory: "/" },
  environment: { NAME: "x".repeat(bytes - 8) },
});

it("has room again for a launch once another one has ended", () => {
  const memory = new LaunchMemory(100);
  {
    using _first = memory.hold(launchOf(60));
    const message = "have 50 bytes, and those of the other containers of this node have 60, of at most 100";
    expect(() => memory.hold(launchOf(50))).toThrow(message);
    using _second = memory.hold(launchOf(40));
  }
  using _third = memory.hold(launchOf(100));
});

const createPod = (node: LocalNode, name: string) =>
  node.createPod(name, {
    terminationGracePeriodSeconds: 0,
    containers: [aScript(idle, { envFrom: [{ configMapRef: { name: "settings" } }] })],
  });

it("a container that has no room says so, and starts once another one has ended", async () => {
  await using node = await openLocalNode({ launchBytesMax: 30_000 });
  const data = { LARGE: "x".repeat(20_000) };
  const settings: ConfigMap = { metadata: { namespace: "default", name: "settings" }, data };
  await node.client.create(configMapType, settings);
  await createPod(node, "first");
  await node.podOnce("first", ({ status }) => expect(status?.phase).toBe("Running"));
  await createPod(node, "second");
  const waiting = { reason: "CreateContainerConfigError", message: expect.stringContaining("of at most 30000") };
  await node.podOnce("second", ({ status }) =>
    expect(status?.containerStatuses?.[0]?.state?.waiting).toMatchObject(waiting),
  );
  await node.client.delete(podType, { namespace: "default", name: "first" });
  await node.podOnce("second", ({ status }) => expect(status?.phase).toBe("Running"));
});
