import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { openMemoryWorld, untilCapturable } from "../support/labs/memory-world.ts";
import { waiting } from "../support/labs/sleep-lab.ts";

describe("the controller and the node agent together", () => {
  it("keep the memory of a sandbox over its sleep, twice, and leave nothing on the node", {
    timeout: 60_000,
  }, async () => {
    await using world = await openMemoryWorld();
    const { lab, node, shim } = world;
    let pod = await lab.untilReady();
    for (let round = 0; round < 2; round += 1) {
      const process = await (shim.started.get(pod.metadata.uid) ?? expect.unreachable());
      await untilCapturable(lab, pod.metadata.uid);
      await vi.waitFor(() => expect(node.memoryOf(process)).toContain("\n"), waiting);
      await lab.change({ operatingMode: "Suspended" });
      const { status } = await lab.untilAsleep();
      const memory = node.memoryOf(process);
      expect(status?.hibernation).toMatchObject({ state: "Hibernated", node: "node-1" });
      await lab.change({ operatingMode: "Running" });
      pod = await lab.untilReady();
      const { uid } = pod.metadata;
      await vi.waitFor(() => expect(shim.started.has(uid)).toBe(true), waiting);
      const next = await (shim.started.get(uid) ?? expect.unreachable());
      await vi.waitFor(async () => {
        expect((await lab.sandbox()).status?.hibernation?.lastWake?.mode).toBe("Restored");
      }, waiting);
      await vi.waitFor(() => expect(node.memoryOf(next).length).toBeGreaterThan(memory.length), waiting);
      expect(node.memoryOf(next).startsWith(memory)).toBe(true);
    }
    await lab.client.delete(podType, { namespace: "default", name: "nova" });
    await vi.waitFor(() => expect(node.files()).toEqual([]), waiting);
  });
});
