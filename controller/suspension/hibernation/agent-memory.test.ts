import { expect, it } from "vitest";
import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { memoryImageAnnotation, runHashAnnotation } from "../../../api/rules/keys.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../../test/support/builders/builders.ts";
import { anImage, busybox } from "../../../test/support/builders/memory-images.ts";
import { AgentMemory } from "./agent-memory.ts";

const sandbox = aSandbox();
const sandboxUID = sandbox.metadata.uid;
const namespace = sandbox.metadata.namespace ?? "";

function openMemory(images: readonly Stored<MemoryImage>[], nodesWithAgent = ["node-1"], hasKey = true) {
  const clock = new FakeClock();
  const gone: ((sandbox: Stored<Sandbox>) => void)[] = [];
  const onGone = (listener: (sandbox: Stored<Sandbox>) => void) => {
    gone.push(listener);
    return new DisposableStack();
  };
  const current = new Map(images.map((image) => [keyOf(image), image]));
  const store = { by: () => images };
  const agents = { by: (_: string, node: string) => (nodesWithAgent.includes(node) ? [aPodOf(sandbox)] : []) };
  const signer = { canSign: () => hasKey };
  const memory = new AgentMemory({ images: current, store, agents, signer, sandboxes: { onGone }, clock });
  return { memory, clock, forget: () => gone.forEach((listener) => void listener(sandbox)) };
}

const image = (stage: "Preflight" | "Capture", status: MemoryImage["status"] = {}, of = sandboxUID) =>
  anImage({ metadata: { namespace }, spec: { stage, sandboxUID: of }, status });
const made = aPodOf(sandbox, { uid: "pod-1", annotations: { [runHashAnnotation]: "hash" } });
const containerStatuses = [{ name: "main", ready: true, restartCount: 0, image: "busybox", imageID: busybox }];
const pod = { ...made, spec: { containers: [], nodeName: "node-1" }, status: { containerStatuses } };

it("the answer of an agent is that about this very Pod, and nothing is waited for", () => {
  const answered = (status?: MemoryImage["status"]) => openMemory([image("Preflight", status)]).memory.preflight(pod);
  expect(answered()).toMatchObject({ reason: "NoAnswer" });
  expect(answered({ preflight: { capturable: true } })).toBeUndefined();
  expect(answered({ preflight: { capturable: false, reason: "DiskFull" } })).toEqual({
    reason: "AgentRefused",
    message: "the node agent cannot capture the Pod: DiskFull",
  });
  const { memory } = openMemory([]);
  expect(memory.preflight(pod)).toMatchObject({ reason: "NoAnswer" });
  expect(memory.preflight(aPodOf(sandbox, { uid: "pod-1" }))).toMatchObject({ reason: "PodTooOld" });
  expect(memory.preflight({ spec: { containers: [] } })).toBeUndefined();
});

it("a MemoryImage of another namespace that names the Sandbox is none of its images", () => {
  const own = image("Capture", { phase: "Captured" });
  const forged = anImage({ metadata: { namespace: "other" }, spec: own.spec, status: { phase: "Captured" } });
  expect(openMemory([own, forged]).memory.seen(sandbox, []).images).toEqual([own]);
});

it("memory is not kept if nobody can tell later which images it belongs to", () => {
  const { memory } = openMemory([image("Preflight", { preflight: { capturable: true } })]);
  const unknown = containerStatuses.map((one) => ({ ...one, imageID: "" }));
  for (const status of [
    {},
    { containerStatuses: unknown },
    { containerStatuses: [...containerStatuses, ...unknown] },
  ]) {
    expect(memory.preflight({ ...pod, status })).toMatchObject({ reason: "ContainerImageUnknown" });
  }
});

it("the answer of an agent counts only while its node has one that is ready", () => {
  const answered = [image("Preflight", { preflight: { capturable: true } })];
  expect(openMemory(answered).memory.preflight(pod)).toBeUndefined();
  expect(openMemory(answered, ["node-2"]).memory.preflight(pod)).toEqual({
    reason: "AgentNotReady",
    message: "its node has no node agent that is ready",
  });
});

it("without a key nothing is kept or restored", () => {
  const answered = [image("Preflight", { preflight: { capturable: true } })];
  const { memory } = openMemory(answered, ["node-1"], false);
  const message =
    "the controller cannot read or make its signing key, or cannot write the public half of the key for the nodes";
  expect(memory.preflight(pod)).toEqual({ reason: "NoSigningKey", message });
  expect(memory.seen(sandbox, [pod]).canSign).toBe(false);
  expect(openMemory(answered).memory.seen(sandbox, [pod]).canSign).toBe(true);
});

it("an image of a former sandbox of the same name is none of its own", () => {
  expect(openMemory([image("Capture", {}, "another")]).memory.seen(sandbox, [pod]).images).toEqual([]);
  expect(openMemory([image("Capture")]).memory.seen(sandbox, [pod]).images).toHaveLength(1);
});

it("a wait is counted from when it is first seen, for one thing, and forgotten with its sandbox", async () => {
  const { memory, clock, forget } = openMemory([image("Capture")]);
  expect(memory.seen(sandbox, [pod]).waitedMs).toBe(0);
  await clock.advance(700);
  expect(memory.seen(sandbox, [pod]).waitedMs).toBe(700);
  expect(memory.waits).toBe(1);
  forget();
  expect(memory.waits).toBe(0);

  const untold = openMemory([image("Capture", { phase: "Captured" })]);
  untold.memory.seen(sandbox, [pod]);
  await untold.clock.advance(300);
  expect(untold.memory.seen(sandbox, [pod]).waitedMs).toBe(300);
  expect(untold.memory.seen(sandbox, []).waitedMs).toBe(0);

  const restoring = openMemory([]);
  const unplaced = aPodOf(sandbox, { uid: "pod-2", annotations: { [memoryImageAnnotation]: "pod-pod-1" } });
  restoring.memory.seen(sandbox, [unplaced]);
  await restoring.clock.advance(400);
  expect(restoring.memory.seen(sandbox, [unplaced]).waitedMs).toBe(400);
  // The scheduler was silent until now.
  const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }] as const;
  const refused = { ...unplaced, status: { conditions } };
  expect(restoring.memory.seen(sandbox, [refused]).waitedMs).toBe(0);
  await restoring.clock.advance(600);
  expect(restoring.memory.seen(sandbox, [refused]).waitedMs).toBe(600);
  const waits = { state: { waiting: { reason: "ErrImagePull" } } };
  const status = {
    containerStatuses: [{ name: "main", ready: false, restartCount: 0, image: "", imageID: "", ...waits }],
  };
  const lacking = { ...unplaced, spec: { containers: [], nodeName: "node-1" }, status };
  expect(restoring.memory.seen(sandbox, [lacking]).waitedMs).toBe(0);
  await restoring.clock.advance(900);
  expect(restoring.memory.seen(sandbox, [lacking]).waitedMs).toBe(900);
  restoring.memory.seen(sandbox, []);
  expect(restoring.memory.waits).toBe(0);
});
