// The memory of Pods in the model: the steps of the agents and of what a Pod goes on from.
import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { PodSpec } from "../../api/kinds/pod.ts";
import { givenUpAnnotation } from "../../api/rules/keys.ts";
import { type Capture, captureOf } from "../../controller/suspension/hibernation/capture-state.ts";
import { nextPodOf } from "../../controller/suspension/hibernation/restore.ts";
import { runHashOf } from "../../controller/suspension/hibernation/run-hash.ts";
import { aSandbox } from "../support/builders/builders.ts";
import { anImage, busybox } from "../support/builders/memory-images.ts";
import type { Step } from "./explore.ts";
import type { Mutation } from "./mutations.ts";
import { type Image, podIn, podNumber, podUid, replaced, type Version, type World } from "./world.ts";

export const newImage = (run: number): Image => ({
  run,
  asked: false,
  agent: "idle",
  late: false,
  givenUp: false,
  used: false,
  told: false,
});

export const areEqual = (some: readonly Image[], others: readonly Image[]): boolean =>
  some === others || (some.length === others.length && some.every((image, index) => isEqual(image, others[index])));

const isEqual = (one: Image, other: Image | undefined): boolean =>
  one === other ||
  (one.run === other?.run &&
    one.asked === other.asked &&
    one.agent === other.agent &&
    one.late === other.late &&
    one.givenUp === other.givenUp &&
    one.used === other.used &&
    one.told === other.told);

export function withImage(world: World, pod: number, change: Partial<Image>): World {
  const image = world.images[pod - 1];
  if (!image) throw new Error(`Pod ${pod} has no image`);
  return { ...world, images: replaced(world.images, pod - 1, { ...image, ...change }) };
}

/** Each Pod that may be frozen has to go. */
export const isFrozen = ({ pods, images }: World): boolean => images[podIn(pods) - 1]?.asked === true;

/** What is wrong if this Pod is deleted now. */
export function cutInCapture({ images }: World, pod: number): string | undefined {
  const image = images[pod - 1];
  if (!image?.asked || image.givenUp) return undefined;
  const isOver = image.agent === "captured" || image.agent === "failed";
  return isOver ? undefined : "a Pod is deleted before its capture is over";
}

/** The agent is late, or ends and starts again, by taking no step for a while. */
export function agentSteps(world: World): Step<World>[] {
  return world.images.flatMap(({ asked, agent }, index) => {
    const pod = index + 1;
    const isThere = podIn(world.pods) === pod;
    const to = (what: string, change: Partial<Image>) => ({
      what: `the agent ${what} Pod ${pod}`,
      next: withImage(world, pod, change),
    });
    if (asked && isThere && agent === "idle") return [to("freezes", { agent: "frozen" })];
    if (agent !== "frozen") return [];
    return [
      to("captures", { agent: "captured", late: !isThere }),
      to("removes the image, and thaws", { agent: "failed" }),
    ];
  });
}

/** The template of the sandbox is edited, and edited back. */
export function runSteps(world: World): Step<World>[] {
  const { left, run } = world;
  if (left.runs === 0) return [];
  return [
    { what: "a user edits what it runs", next: { ...world, run: 1 - run, left: { ...left, runs: left.runs - 1 } } },
  ];
}

const specOf = (run: number): PodSpec => ({ containers: [{ name: `run-${run}` }] });
const phases = { idle: undefined, frozen: "Capturing", captured: "Captured", failed: "Failed" } as const;
const products = new Map<string, Stored<MemoryImage>>();

function asProduct(image: Image, pod: number, mutation: Mutation | undefined): Stored<MemoryImage> {
  const { run, asked, agent, givenUp, late } = image;
  const isMarked = givenUp && !(late && mutation === "a late capture that counts");
  const key = JSON.stringify([run, asked, agent, isMarked, pod]);
  const known = products.get(key);
  if (known) return known;
  const phase = phases[agent];
  const containerImages = specOf(run).containers.map(({ name }) => ({ name, image: busybox }));
  const made = anImage({
    spec: {
      podUID: podUid(pod),
      stage: asked ? "Capture" : "Preflight",
      runHash: runHashOf(specOf(run)),
      containerImages,
    },
    status: phase ? { phase, imageHash: "hash", runscVersion: "v1" } : {},
    ...(isMarked && { metadata: { annotations: { [givenUpAnnotation]: "AgentSilent" } } }),
  });
  products.set(key, made);
  return made;
}

const refusal = { reason: "NoAnswer", message: "" } as const;
const forEverMs = 1_000_000;

/** How far a controller sees the capture of a Pod: its time may be over, or not. */
export function capturesSeen(
  images: readonly Image[],
  pod: number,
  { sealed }: Version,
  {
    mutation,
    refuses,
    lived,
  }: { readonly mutation: Mutation | undefined; readonly refuses: boolean; readonly lived: number },
): readonly Capture[] {
  const isForgotten = mutation === "a frozen Pod that may lose its seal" && sealed === 0;
  if (images.length === 0 || pod === 0 || pod > lived || isForgotten) return [{ is: "none" }];
  const seen = images.map((image, index) => asProduct(image, index + 1, mutation));
  // The status tells of memory at once: a Pod waits for that only for a while, and changes nothing meanwhile.
  const after = (waitedMs: number): Capture => {
    const capture = captureOf({ images: seen, waitedMs }, podUid(pod), refuses ? refusal : undefined);
    return capture.is === "over" ? { is: "over" } : capture;
  };
  const soon = after(0);
  return soon.is === "underWay" ? [soon, after(forEverMs)] : [soon];
}

const told = aSandbox({ suspensionStrategy: { type: "Hibernate" } }, {}, { hibernation: { state: "Hibernated" } });

/**
 * The next Pod, which is there already, and what it goes on from. The images are read consistently, since the product confirms the one
 * that it uses. Those that were used are deleted. The status always tells of memory: the rest must be safe without it.
 */
export function withNextLife(world: World, mutation: Mutation | undefined) {
  if (world.images.length === 0) return { next: world, what: "", broken: undefined };
  const pod = podIn(world.pods);
  const { from, unusable } = nextFrom(world.images, world.run, mutation);
  const isKept = mutation === "memory that is not given up";
  const given = isKept ? world : unusable.reduce((on, old) => withImage(on, old, { givenUp: true }), world);
  const next = { ...given, images: [...given.images, newImage(world.run)] };
  if (from === 0) return { next: { ...next, lived: pod }, what: "", broken: undefined };
  return {
    next: { ...withImage(next, from, { used: true, told: true }), lived: pod },
    what: `, which goes on from Pod ${from}`,
    broken: wrongAboutMemory(world, from),
  };
}

/** From which memory the next Pod goes on, and which is given up before, by the numbers of the Pods. */
export function nextFrom(images: readonly Image[], run: number, mutation: Mutation | undefined) {
  const seen = images.flatMap((image, index) => (image.told ? [] : [asProduct(image, index + 1, mutation)]));
  const made = { metadata: { name: "nova" }, spec: specOf(run) };
  const { from, unusable } = nextPodOf(told, made, { images: seen, waitedMs: 0 });
  return { from: from ? podOf(from.image) : 0, unusable: unusable.map(({ image }) => podOf(image)) };
}

const podOf = ({ spec }: MemoryImage): number => podNumber(spec.podUID);

/** What is wrong if a Pod is started from this memory now. */
export function wrongAboutMemory({ images, lived }: World, old: number): string | undefined {
  if (images[old - 1]?.late) return "a Pod goes on from memory that was captured during a deletion";
  return old === lived ? undefined : "a Pod goes on from memory that is older than the last life";
}
