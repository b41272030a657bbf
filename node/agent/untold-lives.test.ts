import { expect, it } from "vitest";
import type { Pod, PodStatus } from "../../api/kinds/pod.ts";
import { memoryImageAnnotation, runHashAnnotation } from "../../api/rules/keys.ts";
import { image, openAgentWorld } from "../../test/support/labs/agent-world.ts";
import { podOf, stateOf } from "../../test/support/labs/node-lab.ts";

const user = "5a0d0b0c-0000-4000-8000-000000000002";
const mark = "images/default/guest/g1.json";

/** The captured Pod is gone, and its sandbox is to wake. */
async function openAsleep() {
  const world = await openAgentWorld();
  await world.capture();
  await world.deletePod();
  return world;
}

type World = Awaited<ReturnType<typeof openAsleep>>;

const asking = ({ lab }: World, status?: PodStatus): Pod => ({ ...podOf(lab, user, "g1"), ...(status && { status }) });

async function wantsToldAnew(world: World): Promise<void> {
  await world.settle();
  expect(world.api.image?.status).toMatchObject({
    phase: "Lost",
    message: expect.stringContaining("was not asked for the memory"),
    restore: { podUID: user, outcome: "Refused", reason: "ImageRefused" },
  });
  // A second sandbox of the Pod, whose shim is asked, finds the mark and no image.
  expect(world.lab.files()).toEqual([mark]);
  world.api.setPods();
  await world.settle();
  expect(world.lab.files()).toEqual([]);
}

it.each([
  ["by another shim", { shim: "containerd-shim-runsc-v1", annotations: { [memoryImageAnnotation]: "g1" } }],
  ["without the annotations of the Pod", {}],
])("a Pod that gVisor runs %s lives anew, which is told, and the image goes", async (_, how) => {
  await using world = await openAsleep();
  const next = await world.lab.startPod({ uid: user, ...how });
  world.api.setPods(asking(world, { phase: "Pending" }));
  await wantsToldAnew(world);
  expect(stateOf(next.sentry)).not.toMatch(/^Z?$/);
});

const container = { name: "main", image: "busybox", imageID: "x", ready: true, restartCount: 0 };

it.each<[string, object]>([
  ["runs", { state: { running: {} } }],
  ["has run and ended", { state: { terminated: { exitCode: 1, startedAt: "2026-01-01T00:00:00Z" } } }],
  ["was restarted", { state: { waiting: { reason: "CrashLoopBackOff" } }, restartCount: 1 }],
])("a Pod outside of gVisor of which a container %s lives anew, which is told", async (_, status) => {
  await using world = await openAsleep();
  world.api.setPods(asking(world, { phase: "Running", containerStatuses: [{ ...container, ...status }] }));
  await wantsToldAnew(world);
});

it("a Pod keeps its image while the shim that was asked for it has not answered", async () => {
  await using world = await openAsleep();
  await world.lab.startPod({ uid: user, annotations: { [memoryImageAnnotation]: "g1" } });
  const waiting = { ...container, state: { waiting: { reason: "ContainerCreating" } } };
  world.api.setPods(asking(world, { phase: "Pending", containerStatuses: [waiting] }));
  await world.settle();
  expect(world.lab.has(image("image.json"))).toBe(true);
  expect(world.lab.has(mark)).toBe(false);
});

it("a Pod that never started and is deleted does not count as one that has lived", async () => {
  await using world = await openAsleep();
  const unknown = { ...container, state: { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } } };
  world.api.setPods(asking(world, { phase: "Failed", containerStatuses: [unknown] }));
  await world.settle();
  expect(world.lab.has(mark)).toBe(false);
});

it("a Pod is not captured if containerd does not pass its annotations", async () => {
  const annotations = { [runHashAnnotation]: "h" };
  await using world = await openAgentWorld();
  const hashed = async (passed: Readonly<Record<string, string>>) => {
    const { uid } = await world.lab.startPod({ annotations: passed });
    const pod = podOf(world.lab, uid);
    world.api.setPods({ ...pod, metadata: { ...pod.metadata, annotations } });
    if (world.api.image) world.api.put({ ...world.api.image, spec: { ...world.api.image.spec, podUID: uid } });
    await world.settle();
    return world.api.image?.status?.preflight;
  };
  expect(await hashed({})).toMatchObject({ capturable: false, reason: "AnnotationsMissing" });
  expect(await hashed(annotations)).toEqual({ capturable: true });
});
