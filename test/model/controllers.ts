// The actions of a controller in the model: it observes, and takes the step that the product decides. Every controller
// believes that it leads. A paused controller takes no step for a while, so pauses need no step of their own.
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { mayHaveNextPod, sealOf } from "../../api/rules/suspension.ts";
import { type Reply, replyToRefusal } from "../../controller/suspension/activators/activator-replies.ts";
import { longestSilenceMs, type Silence } from "../../controller/suspension/activators/silence.ts";
import { endsWithoutSeal, type SuspensionStep } from "../../controller/suspension/handshake/decide-suspension.ts";
import {
  intentPatch,
  renewCausePatch,
  runningPatch,
  sealPatch,
  unsealPatch,
} from "../../controller/suspension/handshake/patches.ts";
import { aPodOf, aSandbox, noon } from "../support/builders/builders.ts";
import { answer, listens } from "./activators.ts";
import { agesOf, type ConnectDeps, decide } from "./decisions.ts";
import { beginCapture, deletePod, giveUp } from "./endings.ts";
import type { Step } from "./explore.ts";
import { areEqual, capturesSeen, withNextLife } from "./memory.ts";
import { beginWake, deleteGated, wakeSteps } from "./wake.ts";
import {
  type Controller,
  latest,
  type ModelRound,
  patched,
  podIn,
  podNumber,
  replaced,
  versionAt,
  type World,
  withController,
  withStatus,
} from "./world.ts";

const shortly: Silence = { forMs: 0, lostForMs: 0 };
const forLong: Silence = { forMs: longestSilenceMs, lostForMs: 0 };

export function controllerSteps(world: World, index: number, around: ConnectDeps): Step<World>[] {
  const controller = world.controllers[index];
  if (!controller) return [];
  const { round } = controller;
  if (controller.waking) return wakeSteps(world, index, controller.waking, around);
  const steps = lookSteps(world, index, controller);
  if (around.wakes && around.mutation !== "a gated Pod that stays")
    steps.push(...deleteGated(world, index, controller));
  steps.push(...reportSteps(world, index, controller, around));
  if (round?.replies.includes(undefined)) {
    steps.push(...callSteps(world, index, round, around));
  } else {
    steps.push(...intentSteps(world, index, controller), ...reconcileSteps(world, index, controller, around));
  }
  return steps;
}

/** Its stores catch up one by one, and it may restart at any point. */
function lookSteps(world: World, index: number, controller: Controller): Step<World>[] {
  const { sees, seesPods, seesImages, round } = controller;
  const newest = world.versions.length - 1;
  const steps: Step<World>[] = [];
  const to = (what: string, change: Partial<Controller>) =>
    steps.push({ what: `controller ${index} ${what}`, next: withController(world, index, change) });
  if (sees < newest) to(`sees version ${newest} of the sandbox`, { sees: newest });
  if (seesPods < world.pods)
    to(`sees ${podIn(world.pods) ? `Pod ${podIn(world.pods)}` : "no Pod"}`, { seesPods: world.pods });
  if (!areEqual(seesImages, world.images)) to("sees the images", { seesImages: world.images });
  if (round) to("drops its round of questions", { round: undefined });
  return steps;
}

/** It reads of an activator which Pod that one has fenced. */
function reportSteps(world: World, index: number, { heardFenced }: Controller, around: ConnectDeps): Step<World>[] {
  if (!around.replaces || around.mutation === "a fence that is not reported") return [];
  return world.activators.flatMap((activator, number) => {
    const pod = podIn(activator.seesPods);
    const bit = pod === 0 ? 0 : 1 << pod;
    if (!listens(activator) || activator.silent || (activator.fenced & bit & ~heardFenced) === 0) return [];
    const next = withController(world, index, { heardFenced: heardFenced | bit });
    return [{ what: `controller ${index} hears that activator ${number} has fenced Pod ${pod}`, next }];
  });
}

/** One activator handles the call, or rejects it. The answer may be old when the controller acts on it. */
function callSteps(world: World, index: number, round: ModelRound, { mutation, lossy }: ConnectDeps): Step<World>[] {
  return round.replies.flatMap((known, number) => {
    const activator = world.activators[number];
    if (known !== undefined || !activator) return [];
    const heard = (from: World, reply: Reply) =>
      withController(from, index, { round: { ...round, replies: replaced(round.replies, number, reply) } });
    const call = `controller ${index} asks activator ${number} (${round.asked}, Pod ${round.pod})`;
    if (!listens(activator)) {
      const reply = replyToRefusal(podOfActivator(activator.saidReady), "activator", shortly);
      return [{ what: `${call}: refused, ${reply.is}`, next: heard(world, reply) }];
    }
    if (activator.silent)
      return [{ what: `${call}: nothing, for long`, next: heard(world, { is: "silent", ...forLong }) }];
    const { reply, next } = answer(world, number, round, mutation);
    const said = reply.is === "answered" ? `${reply.inFlight} in flight${reply.superseded ? ", superseded" : ""}` : "";
    const steps: Step<World>[] = [{ what: `${call}: ${said}`, next: heard(next, reply) }];
    if (lossy) steps.push({ what: `${call}: the answer is lost`, next: heard(next, { is: "silent", ...shortly }) });
    return steps;
  });
}

const running = { name: "activator", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
const podOfActivator = (ready: boolean) =>
  aPodOf(
    aSandbox(),
    {},
    { conditions: [{ type: "Ready", status: ready ? "True" : "False" }], containerStatuses: [running] },
  );

/** The model does not follow idle times: a sandbox may be idle at any time. */
function intentSteps(world: World, index: number, { sees, seesPods }: Controller): Step<World>[] {
  const { suspended, sealed, sandbox } = versionAt(world.versions, sees);
  // A sandbox that is to stay awake is never idle.
  if (world.refuses || world.left.sleeps === 0 || suspended || sealed || podIn(seesPods) === 0) return [];
  const next = patched(world, intentPatch(sandbox));
  if (!next) return [];
  const left = { ...world.left, sleeps: world.left.sleeps - 1 };
  // It was idle for long enough, so earlier data no longer counts, unless it is unanswered.
  const requests = next.requests.map((request) => {
    if (request.at !== "tunnel") return request;
    const unanswered = request.unanswered === "no" ? "no" : "before";
    return { ...request, asked: 0, byte: "none", unanswered } as const;
  });
  const seen = withController({ ...next, left, requests }, index, { sees: next.versions.length - 1 });
  return [{ what: `controller ${index} writes Suspended, by inactivity`, next: seen }];
}

function reconcileSteps(world: World, index: number, controller: Controller, around: ConnectDeps): Step<World>[] {
  const view = versionAt(world.versions, controller.sees);
  return agesOf(world, view, around).flatMap((sealedForMs) => {
    const { round, heardFenced } = controller;
    const { refuses, lived } = world;
    const pod = podIn(controller.seesPods);
    return capturesSeen(controller.seesImages, pod, view, { ...around, refuses, lived }).flatMap((capture) => {
      const step = decide({ view, round, sealedForMs, heardFenced, refuses, capture, around }, pod, false);
      return perform(world, index, controller, step, around, sealedForMs);
    });
  });
}

function perform(
  world: World,
  index: number,
  controller: Controller,
  step: SuspensionStep,
  around: ConnectDeps,
  sealedForMs: number,
): Step<World>[] {
  const view = versionAt(world.versions, controller.sees);
  const { sandbox, generation } = view;
  const wrote = (what: string, next: World | undefined, broken?: string): Step<World>[] =>
    next
      ? [
          {
            what: `controller ${index} ${what}`,
            next: withController(next, index, { sees: next.versions.length - 1, round: undefined }),
            ...(broken && { broken }),
          },
        ]
      : [];
  switch (step.do) {
    case "nothing":
      return nextPod(world, index, controller, around);
    case "reportSuspended":
      return wrote(`writes the status: suspended since generation ${generation}`, withSuspended(world, generation));
    case "readPod":
      return readPod(world, index, controller, around, sealedForMs);
    case "askObserved":
      return [ask(world, index, { asked: "observed", pod: podNumber(step.podUid), generation })];
    case "askPromises":
      return [ask(world, index, { asked: "promise", pod: podNumber(step.podUid), generation })];
    case "wait":
      // It drops the round of calls and starts another one, which is a separate step.
      return [];
    case "renewCause":
      return wrote("renews the cause", patched(world, renewCausePatch(sandbox)));
    case "writeRunning":
      return wrote(`writes Running back: ${step.why}`, ...undone(world, sandbox));
    case "seal": {
      const patch = sealPatch(sandbox, step.pod, step.cause, new Date(noon));
      const bare = { metadata: { ...patch.metadata, resourceVersion: latest(world).sandbox.metadata.resourceVersion } };
      const next = patched(world, around.mutation === "a seal without the version of the sandbox" ? bare : patch);
      if (step.cause === "Person" && world.refuses && around.mutation === "a refusal that ends a manual suspension")
        return [];
      const violation = step.cause === "Inactivity" ? wrongAboutSeal(world, podNumber(step.pod.uid)) : undefined;
      const isSealed = wrote(`seals ${step.pod.uid}, ${step.cause}`, next, violation);
      const isUndone =
        around.mutation === "a rejected seal that ends every suspension" || endsWithoutSeal(sandbox, step.cause);
      // After the rejection of a manual one nothing is written.
      if (!around.rejectsSeals || !isUndone) return isSealed;
      return [...isSealed, ...wrote("writes Running back: its seal is rejected", ...undone(world, sandbox))];
    }
    case "capture":
      return beginCapture(world, index, step, sealOf(sandbox)?.cause === "Person" && sealedForMs > 0);
    case "giveUpCapture":
      return [giveUp(world, index, step)];
    case "deletePod":
      return deletePod(world, index, step, sealOf(sandbox)?.cause === "Person" && sealedForMs > 0);
    case "unseal":
      return wrote(`takes the seal of ${step.podUid} off`, patched(world, unsealPatch(sandbox)));
  }
}

/** The world in which a suspension is undone, and what is wrong with that. */
const undone = (world: World, sandbox: Stored<Sandbox>) =>
  [
    patched(world, runningPatch(sandbox)),
    world.paused ? "a manual suspension is undone before it is complete" : undefined,
  ] as const;

/** What is wrong if a Pod is sealed for inactivity now. */
function wrongAboutSeal(world: World, pod: number): string | undefined {
  if (world.refuses) return "a sandbox that would rather stay awake loses its memory for inactivity";
  return isInUse(world, pod) ? "a Pod with a request is sealed for inactivity" : undefined;
}

/** A byte after its activator's answer is not lost: the wake, or the close of the tunnel, follows. */
const isInUse = ({ requests }: World, pod: number): boolean =>
  requests.some((request) => {
    if (request.at === "tunnel")
      return request.pod === pod && (request.byte === "before" || request.unanswered === "before");
    return (request.at === "pod" || request.at === "dialing") && request.pod === pod;
  });

const ask = (world: World, index: number, { asked, pod, generation }: Omit<ModelRound, "replies">): Step<World> => {
  const replies = world.activators.map(({ life }) => (life === "absent" ? "unlisted" : undefined));
  const round: ModelRound = { asked, pod, generation, replies };
  return {
    what: `controller ${index} lists the activators (${asked}, Pod ${pod})`,
    next: withController(world, index, { round }),
  };
};

/**
 * A consistent read and its consequence in one step: a deleted Pod stays deleted, and an existing one is only
 * deleted once it is sealed, and a write under the version of the sandbox would detect that.
 */
function readPod(
  world: World,
  index: number,
  controller: Controller,
  around: ConnectDeps,
  sealedForMs: number,
): Step<World>[] {
  const view = versionAt(world.versions, controller.sees);
  const trusts = around.mutation === "a store that is trusted";
  const pod = podIn(trusts ? controller.seesPods : world.pods);
  const { round, heardFenced, seesImages } = controller;
  const { refuses, lived } = world;
  return capturesSeen(seesImages, pod, view, { ...around, refuses, lived }).flatMap((capture) => {
    const step = decide({ view, round, sealedForMs, heardFenced, refuses, capture, around }, pod, true);
    return perform(world, index, controller, step, around, sealedForMs);
  });
}

const statuses: (Sandbox["status"] & object)[] = [];

function withSuspended(world: World, observedGeneration: number): World | undefined {
  statuses[observedGeneration] ??= {
    conditions: [
      {
        type: "Suspended",
        status: "True",
        reason: "PodTerminated",
        message: "",
        lastTransitionTime: noon,
        observedGeneration,
      },
    ],
  };
  return withStatus(world, statuses[observedGeneration]);
}

/** The rest of the reconciler for a running sandbox. */
function nextPod(
  world: World,
  index: number,
  { sees, seesPods }: Controller,
  { mutation, wakes }: ConnectDeps,
): Step<World>[] {
  const { sandbox } = versionAt(world.versions, sees);
  if (!mayHaveNextPod(sandbox) || podIn(seesPods) !== 0) return [];
  if (wakes) return beginWake(world, index, mutation);
  if (podIn(world.pods) !== 0) return [];
  const stray = sees === world.versions.length - 1 ? 0 : 1;
  if (stray > world.left.unneededPods) return [];
  const left = { ...world.left, unneededPods: world.left.unneededPods - stray };
  const { next: made, what, broken } = withNextLife({ ...world, left, pods: world.pods + 1 }, mutation);
  const next = withController(made, index, { seesPods: made.pods, seesImages: made.images });
  return [{ what: `controller ${index} creates Pod ${podIn(made.pods)}${what}`, next, ...(broken && { broken }) }];
}
