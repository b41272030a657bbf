import { expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { controllerOf } from "../../../api/kinds/meta.ts";
import { containers, images, kept, openRunning, untilTold } from "../../support/labs/memory-lab.ts";
import { waiting } from "../../support/labs/sleep-lab.ts";

it("a Pod that somebody makes for a sandbox that sleeps goes, and the memory stays", async () => {
  await using running = await openRunning();
  const { lab, pod } = running;
  await lab.change({ operatingMode: "Suspended" });
  const { metadata } = await lab.untilAsleep();
  const before = await images(lab);
  const { name, namespace = "default", labels, ownerReferences } = pod.metadata;
  const stray = await lab.client.create(podType, {
    ...{ apiVersion: "v1", kind: "Pod", spec: { containers } },
    metadata: { name, namespace, ...(labels && { labels }), ...(ownerReferences && { ownerReferences }) },
  });
  expect(controllerOf(stray)?.uid).toBe(metadata.uid);
  await vi.waitFor(async () => expect(await lab.pod()).toBeUndefined(), waiting);
  await lab.untilAsleep();
  expect((await images(lab)).map((image) => image.metadata.uid)).toEqual(before.map((image) => image.metadata.uid));
  expect((await lab.sandbox()).status?.hibernation).toMatchObject(kept);
  await lab.change({ operatingMode: "Running" });
  await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
});
