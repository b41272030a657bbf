import { expect, it, vi } from "vitest";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { anImage } from "../../support/builders/memory-images.ts";
import { openSandboxLab } from "../../support/labs/sandbox-lab.ts";
import { waiting } from "../../support/labs/sleep-lab.ts";

it("the controller removes a MemoryImage whose Sandbox was deleted without it", async () => {
  const clock = new FakeClock();
  await using lab = await openSandboxLab({ flags: ["--hibernation"], clock });
  const { spec, metadata } = anImage({ spec: { sandboxUID: "gone" } });
  const { name, namespace = "" } = metadata;
  const kind = { apiVersion: "hibernation.rouse.dev/v1alpha1", kind: "MemoryImage" };
  await lab.controllerFreeClient.create(memoryImageType, { ...kind, metadata: { name, namespace }, spec });
  await vi.waitFor(async () => {
    await clock.advance(60_000);
    expect((await lab.controllerFreeClient.list(memoryImageType, {})).items).toEqual([]);
  }, waiting);
});
