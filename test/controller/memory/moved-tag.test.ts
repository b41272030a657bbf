import { expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { ContainerStatus, Pod } from "../../../api/kinds/pod.ts";
import { memoryImageAnnotation, signatureAnnotation } from "../../../api/rules/keys.ts";
import { contentOf } from "../../support/fakes/fake-kubelet.ts";
import {
  containers,
  gvisor,
  images,
  kept,
  openRunning,
  untilAnswered,
  untilTold,
} from "../../support/labs/memory-lab.ts";
import { type SleepLab, waiting } from "../../support/labs/sleep-lab.ts";

/** The next Pod that may start. */
const untilNext = (lab: SleepLab, former: Stored<Pod>) =>
  vi.waitFor(async () => {
    const pod = await lab.pod();
    if (!pod || pod.metadata.uid === former.metadata.uid || pod.spec?.schedulingGates?.length)
      throw new Error("no next Pod");
    return pod;
  }, waiting);

/** The fake kubelet lets a Pod alone that it has told as running. */
const report = ({ client }: SleepLab, { metadata: { name } }: Stored<Pod>, status: Partial<ContainerStatus>) => {
  const container = { name: "main", image: "busybox", imageID: "", ready: false, restartCount: 0, ...status };
  const body = { status: { containerStatuses: [container] } };
  return client.patch(podType, { namespace: "default", name }, { type: "merge", body }, { subresource: "status" });
};

const imageOf = (pod: Stored<Pod>) => pod.spec?.containers[0]?.image;

it("memory comes back over the files of its own image, also the second time, wherever the tag points", async () => {
  await using running = await openRunning();
  const { lab } = running;
  let { pod } = running;
  for (const life of [1, 2]) {
    await lab.change({ operatingMode: "Suspended" });
    expect((await lab.untilAsleep()).status?.hibernation, `life ${life}`).toMatchObject(kept);
    const containerImages = [{ name: "main", image: contentOf("busybox") }];
    expect((await images(lab)).map(({ spec }) => spec.containerImages)).toEqual([containerImages]);
    await lab.change({ operatingMode: "Running" });
    const next = await untilNext(lab, pod);
    expect(next.metadata.annotations).toHaveProperty([signatureAnnotation]);
    expect(imageOf(next)).toBe(contentOf("busybox"));
    await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
    await untilAnswered(lab, next.metadata.uid);
    pod = next;
  }
});

it("a template that names another image after the sleep is followed, without the memory", async () => {
  await using running = await openRunning();
  const { lab, pod } = running;
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  const other = containers.map((container) => ({ ...container, image: "busybox:2" }));
  await lab.change({ podTemplate: { spec: { ...gvisor.spec, containers: other } }, operatingMode: "Running" });
  const next = await untilNext(lab, pod);
  expect(imageOf(next)).toBe("busybox:2");
  expect(next.metadata.annotations).not.toHaveProperty([memoryImageAnnotation]);
  await untilTold(lab, { lastWake: { mode: "Anew", reason: "RunChanged" } });
});

it("a sandbox whose image is gone starts anew from the one that its template names, and tells it", async () => {
  await using running = await openRunning();
  const { lab, agent, pod } = running;
  agent.restore = () => undefined;
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  await lab.change({ operatingMode: "Running" });
  const asking = await untilNext(lab, pod);
  await untilTold(lab, { ...kept, state: "Restoring" });
  await report(lab, asking, { state: { waiting: { reason: "ErrImageNeverPull" } } });
  const next = await untilNext(lab, asking);
  expect(imageOf(next)).toBe("busybox");
  expect(next.metadata.annotations).not.toHaveProperty([memoryImageAnnotation]);
  await untilTold(lab, { lastWake: { mode: "Anew", reason: "ContainerImageMissing" } });
  await vi.waitFor(async () => expect(await lab.eventNotes("MemoryLost")).toHaveLength(1), waiting);
});

it("memory stays while the registry of an image does not answer, and comes back with the image", async () => {
  await using running = await openRunning();
  const { lab, agent, pod } = running;
  agent.restore = () => undefined;
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  await lab.change({ operatingMode: "Running" });
  const asking = await untilNext(lab, pod);
  await untilTold(lab, { ...kept, state: "Restoring" });
  await report(lab, asking, { state: { waiting: { reason: "ErrImagePull" } } });
  // A pass has seen it: it has written the label.
  await lab.change({ podTemplate: { ...gvisor, metadata: { labels: { seen: "true" } } } });
  await vi.waitFor(async () => expect((await lab.pod())?.metadata.labels).toHaveProperty("seen"), waiting);
  // The controller has made an image of the next Pod, too.
  const at = { namespace: "default", name: asking.metadata.annotations?.[memoryImageAnnotation] ?? "" };
  const status = { restore: { podUID: asking.metadata.uid, outcome: "Restored", durationMs: 412 } };
  await lab.client.patch(memoryImageType, at, { type: "merge", body: { status } }, { subresource: "status" });
  await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
  expect((await lab.pod())?.metadata.uid).toBe(asking.metadata.uid);
});

it("a restored Pod stays if a container of it cannot get its image later", async () => {
  await using running = await openRunning();
  const { lab, pod } = running;
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  await lab.change({ operatingMode: "Running" });
  const restored = await untilNext(lab, pod);
  await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
  const state = { waiting: { reason: "ImagePullBackOff" } };
  await report(lab, restored, { state, containerID: "containerd://1", restartCount: 1 });
  await lab.change({ podTemplate: { ...gvisor, metadata: { labels: { seen: "true" } } } });
  await vi.waitFor(async () => expect((await lab.pod())?.metadata.labels).toHaveProperty("seen"), waiting);
  expect((await lab.pod())?.metadata).toMatchObject({ uid: restored.metadata.uid });
  expect((await lab.pod())?.metadata).not.toHaveProperty("deletionTimestamp");
});
