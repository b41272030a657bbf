// A wake in the model, one call at a time: what is given up, the creation of the gated Pod, the read of its image, and the signature.
import { mayHaveNextPod } from "../../api/rules/suspension.ts";
import type { ConnectDeps } from "./decisions.ts";
import type { Step } from "./explore.ts";
import { areEqual, newImage, nextFrom, withImage, wrongAboutMemory } from "./memory.ts";
import type { Mutation } from "./mutations.ts";
import {
  type Controller,
  latest,
  podIn,
  replaced,
  versionAt,
  type Waking,
  type World,
  withController,
} from "./world.ts";

/** It decides on what its stores show. Its images are those of now, as in a store that has just been read. */
export function beginWake(world: World, index: number, mutation: Mutation | undefined): Step<World>[] {
  const { run, controllers } = world;
  const { seesImages = [] } = controllers[index] ?? {};
  const { from, unusable: all } = nextFrom(seesImages, run, mutation);
  if (!areEqual(seesImages, world.images) || (from > 0 && world.left.wakes === 0)) return [];
  const unusable = mutation === "memory that is not given up" ? [] : all;
  const waking: Waking = { at: firstOf(unusable, from, mutation), unusable, from, run, pod: 0 };
  const what = `controller ${index} begins a wake${from ? ` from the memory of Pod ${from}` : ""}`;
  return [{ what, next: withController(world, index, { waking }) }];
}

const isEarly = (mutation: Mutation | undefined): boolean =>
  mutation === "an image that is confirmed before its Pod is made";

function firstOf(unusable: readonly number[], from: number, mutation: Mutation | undefined): Waking["at"] {
  if (unusable.length > 0) return "giveUp";
  return from > 0 && isEarly(mutation) ? "confirm" : "create";
}

export function wakeSteps(world: World, index: number, waking: Waking, around: ConnectDeps): Step<World>[] {
  const dies = { what: `controller ${index} dies in its wake`, next: ended(world, index) };
  return [dies, ...nextCall(world, index, waking, around)];
}

function nextCall(world: World, index: number, waking: Waking, around: ConnectDeps): Step<World>[] {
  switch (waking.at) {
    case "giveUp":
      return [giveUpNext(world, index, waking, around.mutation)];
    case "create":
      return [...create(world, index, waking, around), ...reject(world, index, waking, around)];
    case "confirm":
      return [confirm(world, index, waking, around.mutation)];
    case "sign":
      return [sign(world, index, waking), ...reject(world, index, waking, around)];
  }
}

/** The rest is for the next pass, which sees what has come in between. */
const ended = (world: World, index: number): World => withController(world, index, { waking: undefined });
const clashed = (world: World, index: number): World =>
  withController(world, index, { waking: undefined, seesPods: world.pods, seesImages: world.images });

function isAsSeen({ images, controllers }: World, index: number, pod: number): boolean {
  const seen = controllers[index]?.seesImages[pod - 1];
  const now = images[pod - 1];
  return seen !== undefined && now !== undefined && areEqual([seen], [now]);
}

function withGivenUp(world: World, index: number, pod: number): World {
  const next = withImage(world, pod, { givenUp: true });
  const image = next.images[pod - 1];
  const { seesImages = [] } = next.controllers[index] ?? {};
  return image ? withController(next, index, { seesImages: replaced(seesImages, pod - 1, image) }) : next;
}

function giveUpNext(world: World, index: number, waking: Waking, mutation: Mutation | undefined): Step<World> {
  const [pod = 0, ...unusable] = waking.unusable;
  const what = `controller ${index} gives up the memory of Pod ${pod}`;
  if (!isAsSeen(world, index, pod)) return { what: `${what}: it has changed`, next: clashed(world, index) };
  const next = { ...waking, unusable, at: firstOf(unusable, waking.from, mutation) };
  return { what, next: withController(withGivenUp(world, index, pod), index, { waking: next }) };
}

function create(world: World, index: number, waking: Waking, { mutation }: ConnectDeps): Step<World>[] {
  const { from, run } = waking;
  if (podIn(world.pods) !== 0) return [{ what: `controller ${index} finds a Pod`, next: clashed(world, index) }];
  const isCold = from === 0;
  if (!isCold && world.left.wakes === 0) return [];
  const { sees = 0 } = world.controllers[index] ?? {};
  const stray = sees === world.versions.length - 1 ? 0 : 1;
  if (stray > world.left.unneededPods) return [];
  const pods = world.pods + 1;
  const pod = podIn(pods);
  const left = {
    ...world.left,
    unneededPods: world.left.unneededPods - stray,
    wakes: world.left.wakes - (isCold ? 0 : 1),
  };
  const images = [...world.images, newImage(run)];
  const made = { ...world, left, pods, images, gated: !isCold, asks: from, lived: isCold ? pod : world.lived };
  const what = `controller ${index} creates Pod ${pod}${isCold ? "" : ` with a gate, for the memory of Pod ${from}`}`;
  if (isCold) return [{ what, next: clashed(made, index) }];
  const at = isEarly(mutation) ? "sign" : "confirm";
  return [{ what, next: withController(made, index, { seesPods: pods, waking: { ...waking, at, pod } }) }];
}

function confirm(world: World, index: number, waking: Waking, mutation: Mutation | undefined): Step<World> {
  const what = `controller ${index} reads the image of Pod ${waking.from}`;
  if (!isAsSeen(world, index, waking.from)) return { what: `${what}: it has changed`, next: clashed(world, index) };
  const at = isEarly(mutation) ? "create" : "sign";
  return { what, next: withController(world, index, { waking: { ...waking, at } }) };
}

/** With the UID and the version of the Pod. */
function sign(world: World, index: number, { pod }: Waking): Step<World> {
  const what = `controller ${index} signs Pod ${pod}`;
  if (podIn(world.pods) !== pod || !world.gated)
    return { what: `${what}: it is another one`, next: clashed(world, index) };
  return { what, next: clashed({ ...world, gated: false }, index) };
}

/** A dry run shows that the API server accepts a Pod without memory. */
function reject(world: World, index: number, { from }: Waking, { rejectsPods }: ConnectDeps): Step<World>[] {
  if (!rejectsPods || from === 0) return [];
  const what = `controller ${index} gives up the memory of Pod ${from}, whose Pod is rejected`;
  const after = isAsSeen(world, index, from) ? withImage(world, from, { givenUp: true }) : world;
  return [{ what, next: clashed(after, index) }];
}

/** A gated Pod that it finds is deleted, as it was seen, and for the sandbox as it is. */
export function deleteGated(world: World, index: number, { sees, seesPods }: Controller): Step<World>[] {
  if (!world.gated || seesPods !== world.pods || sees !== world.versions.length - 1) return [];
  if (!mayHaveNextPod(versionAt(world.versions, sees).sandbox)) return [];
  const gone = { ...world, pods: world.pods + 1, gated: false, asks: 0 };
  const what = `controller ${index} deletes Pod ${podIn(world.pods)}, which waits for a signature`;
  return [{ what, next: withController(gone, index, { seesPods: gone.pods }) }];
}

/** The shim starts a Pod that is signed, from memory that was not used, or anew. Its agent tells it at some time. */
export function nodeSteps(world: World): Step<World>[] {
  const { asks, gated, pods } = world;
  const pod = podIn(pods);
  const steps: Step<World>[] = world.images.flatMap(({ used, told }, at) =>
    used && !told
      ? [{ what: `the agent tells the use of Pod ${at + 1}`, next: withImage(world, at + 1, { told: true }) }]
      : [],
  );
  if (pod > 0 && mayEnd(world, pod)) steps.push(end(world, pod));
  if (asks === 0 || gated || pod === 0) return steps;
  const started = { ...world, asks: 0, lived: pod };
  if (world.images[asks - 1]?.used)
    return [...steps, { what: `Pod ${pod} starts anew: the memory is used`, next: started }];
  const broken = wrongAboutMemory(world, asks);
  const next = withImage(started, asks, { used: true });
  return [...steps, { what: `Pod ${pod} goes on from Pod ${asks}`, next, ...(broken && { broken }) }];
}

/** Where there are activators, the kills are theirs: a dial that a Pod does not outlive is no fault of anybody. */
const mayEnd = (world: World, pod: number): boolean =>
  world.left.kills > 0 && world.activators.length === 0 && !mayBeCaptured(world, pod);

/** What the agent does about a Pod that ends in its capture is not part of this model. */
const mayBeCaptured = (world: World, pod: number): boolean =>
  world.left.pauses > 0 || latest(world).suspended || world.images[pod - 1]?.asked === true;

/** Its node is lost, or somebody deletes it. */
function end(world: World, pod: number): Step<World> {
  const left = { ...world.left, kills: world.left.kills - 1 };
  const paused = world.paused === pod ? 0 : world.paused;
  return { what: `Pod ${pod} ends`, next: { ...world, pods: world.pods + 1, gated: false, asks: 0, paused, left } };
}
