// What a controller does in the model: it looks, and takes the step that the product decides on. Every controller believes
// that it leads. One that is paused is one that takes no step for a while, so pauses need no step of their own.
import {
  decideSuspension,
  mayHaveNextPod,
  type Round,
  type SuspensionStep,
} from "../../controller/suspension/decide-suspension.ts";
import { intentPatch, runningPatch, sealPatch, unsealPatch } from "../../controller/suspension/patches.ts";
import { type Reply, replyToRefusal } from "../../controller/suspension/replies.ts";
import { aPodOf, aSandbox, noon } from "../support/builders.ts";
import { answer, listens } from "./activators.ts";
import type { Step } from "./explore.ts";
import {
  type Controller,
  latest,
  type ModelRound,
  type Mutation,
  patched,
  podIn,
  podNumber,
  podUid,
  replaced,
  type Version,
  versionAt,
  type World,
  withStatus,
} from "./world.ts";

export interface Surroundings {
  readonly mutation: Mutation | undefined;
  readonly lossy: boolean;
  readonly drainEnds: boolean;
}

const withController = (world: World, index: number, change: Partial<Controller>): World => {
  const controller = world.controllers[index];
  if (!controller) throw new Error(`there is no controller ${index}`);
  return { ...world, controllers: replaced(world.controllers, index, { ...controller, ...change }) };
};

export function controllerSteps(world: World, index: number, around: Surroundings): Step<World>[] {
  const controller = world.controllers[index];
  if (!controller) return [];
  const { round } = controller;
  const steps = lookSteps(world, index, controller);
  if (round?.replies.includes(undefined)) return [...steps, ...callSteps(world, index, round, around)];
  return [...steps, ...intentSteps(world, index, controller), ...reconcileSteps(world, index, controller, around)];
}

/** Its stores catch up, each on its own, and it may start again in the middle of anything. */
function lookSteps(world: World, index: number, { sees, seesPods, round }: Controller): Step<World>[] {
  const newest = world.versions.length - 1;
  const steps: Step<World>[] = [];
  const to = (what: string, change: Partial<Controller>) =>
    steps.push({ what: `controller ${index} ${what}`, next: withController(world, index, change) });
  if (sees < newest) to(`sees version ${newest} of the sandbox`, { sees: newest });
  if (seesPods < world.pods)
    to(`sees ${podIn(world.pods) ? `Pod ${podIn(world.pods)}` : "no Pod"}`, { seesPods: world.pods });
  if (round) to("drops its round of questions", { round: undefined });
  return steps;
}

/** One activator handles the call, or refuses it. The answer is old by the time that it is acted upon. */
function callSteps(world: World, index: number, round: ModelRound, { mutation, lossy }: Surroundings): Step<World>[] {
  return round.replies.flatMap((known, number) => {
    const activator = world.activators[number];
    if (known !== undefined || !activator) return [];
    const heard = (from: World, reply: Reply) =>
      withController(from, index, { round: { ...round, replies: replaced(round.replies, number, reply) } });
    const call = `controller ${index} asks activator ${number} (${round.asked}, Pod ${round.pod})`;
    if (!listens(activator)) {
      const reply = replyToRefusal(podOfActivator(activator.saidReady), "activator", 0);
      return [{ what: `${call}: refused, ${reply.is}`, next: heard(world, reply) }];
    }
    const { reply, next } = answer(world, number, round, mutation);
    const said = reply.is === "answered" ? `${reply.inFlight} in flight${reply.superseded ? ", superseded" : ""}` : "";
    const steps: Step<World>[] = [{ what: `${call}: ${said}`, next: heard(next, reply) }];
    if (lossy) steps.push({ what: `${call}: the answer is lost`, next: heard(next, { is: "silent", forMs: 0 }) });
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

/** Whether it is idle is anybody's guess, so the model lets it be at any time. */
function intentSteps(world: World, index: number, { sees, seesPods }: Controller): Step<World>[] {
  const { suspended, sealed, sandbox } = versionAt(world.versions, sees);
  if (world.left.sleeps === 0 || suspended || sealed || podIn(seesPods) === 0) return [];
  const next = patched(world, intentPatch(sandbox));
  if (!next) return [];
  const left = { ...world.left, sleeps: world.left.sleeps - 1 };
  // It was idle for long enough: whatever moved before that counts no more.
  const requests = next.requests.map((request) =>
    request.at === "tunnel" ? ({ ...request, asked: 0, byte: "none" } as const) : request,
  );
  const seen = withController({ ...next, left, requests }, index, { sees: next.versions.length - 1 });
  return [{ what: `controller ${index} writes Suspended, by inactivity`, next: seen }];
}

function reconcileSteps(world: World, index: number, controller: Controller, around: Surroundings): Step<World>[] {
  const view = versionAt(world.versions, controller.sees);
  const ages = around.drainEnds && view.sealed ? [0, drainOverMs] : [0];
  return ages.flatMap((sealedForMs) => {
    const step = decide(view, podIn(controller.seesPods), false, controller.round, sealedForMs);
    return perform(world, index, controller, step, around, sealedForMs);
  });
}

const drainOverMs = 60_000;
const decided = new Map<string, SuspensionStep>();

/** The product's decision, made once for each situation. */
function decide(
  view: Version,
  pod: number,
  podIsFresh: boolean,
  round: ModelRound | undefined,
  sealedForMs: number,
): SuspensionStep {
  const key = `${view.content}/${pod}/${podIsFresh}/${sealedForMs}/${round ? JSON.stringify(round) : ""}`;
  const known = decided.get(key);
  if (known) return known;
  const step = decideSuspension({
    sandbox: view.sandbox,
    pod: pod ? { name: "nova", uid: podUid(pod), terminating: false } : undefined,
    podIsFresh,
    round: round && productRound(round),
    sealedForMs,
    now: new Date(noon),
  });
  decided.set(key, step);
  return step;
}

function productRound({ asked, pod, generation, replies: all }: ModelRound): Round {
  const replies = all.filter((reply) => reply !== undefined && reply !== "unlisted");
  const about = podUid(pod);
  return asked === "observed" ? { asked, podUid: about, generation, replies } : { asked, podUid: about, replies };
}

function perform(
  world: World,
  index: number,
  controller: Controller,
  step: SuspensionStep,
  around: Surroundings,
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
      return nextPod(world, index, controller);
    case "tellSuspended":
      return wrote(`writes the status: suspended since generation ${generation}`, told(world, generation));
    case "readPod":
      return readPod(world, index, controller, around, sealedForMs);
    case "askObserved":
      return [ask(world, index, { asked: "observed", pod: podNumber(step.podUid), generation })];
    case "askPromises":
      return [ask(world, index, { asked: "promise", pod: podNumber(step.podUid), generation })];
    case "wait":
      // It drops the round of questions and asks anew, which is a step of its own.
      return [];
    case "writeRunning": {
      const undone = world.paused ? "a pause is undone before it happened" : undefined;
      return wrote(`writes Running back: ${step.why}`, patched(world, runningPatch(sandbox)), undone);
    }
    case "seal": {
      const patch = sealPatch(sandbox, step.pod, step.cause, new Date(noon));
      const bare = { metadata: { ...patch.metadata, resourceVersion: latest(world).sandbox.metadata.resourceVersion } };
      const next = patched(
        world,
        around.mutation === "a seal that is not under the version of the sandbox" ? bare : patch,
      );
      const doomed = step.cause === "Inactivity" && isCarrying(world, podNumber(step.pod.uid));
      return wrote(
        `seals ${step.pod.uid}, ${step.cause}`,
        next,
        doomed ? "a Pod is doomed by inactivity under a request" : undefined,
      );
    }
    case "deletePod":
      return deletePod(world, index, podNumber(step.podUid), step.cut, sealedForMs);
    case "unseal":
      return wrote(`takes the seal of ${step.podUid} off`, patched(world, unsealPatch(sandbox)));
  }
}

/** A byte that came after its activator had spoken is not unheard: the wake, or the close of the tunnel, follows. */
const isCarrying = ({ requests }: World, pod: number): boolean =>
  requests.some((request) => {
    if (request.at === "tunnel") return request.pod === pod && request.byte === "before";
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

/** Under the UID as precondition. What a person's drain cuts when its time is over is cut on purpose. */
function deletePod(world: World, index: number, pod: number, cut: number, sealedForMs: number): Step<World>[] {
  if (podIn(world.pods) !== pod) return [];
  const sent = world.requests.filter(
    (request) => (request.at === "pod" || request.at === "tunnel") && request.pod === pod,
  );
  const overdue = sealedForMs > 0;
  const broken = overdue ? undefined : deletedUnder(sent);
  const requests = world.requests.map((request) => (sent.includes(request) ? ({ at: "end" } as const) : request));
  const paused = world.paused === pod ? 0 : world.paused;
  const gone = { ...world, pods: world.pods + 1, paused, requests };
  return [
    {
      what: `controller ${index} deletes Pod ${pod}${cut ? `, cutting ${cut}` : ""}`,
      next: withController(gone, index, { seesPods: gone.pods, round: undefined }),
      ...(broken && { broken }),
    },
  ];
}

function deletedUnder(sent: World["requests"]): string | undefined {
  if (sent.some(({ at }) => at === "pod")) return "a Pod is deleted under a request";
  return sent.length > 0 ? "a Pod is deleted under a tunnel whose client was not told" : undefined;
}

/**
 * A consistent read, and what it leads to, in one step: a Pod that is gone stays gone, and one that is there is only
 * deleted once it is sealed, which a write under the version of the sandbox would notice.
 */
function readPod(
  world: World,
  index: number,
  controller: Controller,
  around: Surroundings,
  sealedForMs: number,
): Step<World>[] {
  const view = versionAt(world.versions, controller.sees);
  const trusts = around.mutation === "a store that is trusted";
  const pod = podIn(trusts ? controller.seesPods : world.pods);
  const step = decide(view, pod, true, controller.round, sealedForMs);
  return perform(world, index, controller, step, around, sealedForMs);
}

const told = (world: World, observedGeneration: number): World | undefined =>
  withStatus(world, {
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
  });

/** What the rest of the reconciler does for a sandbox that runs. */
function nextPod(world: World, index: number, { sees, seesPods }: Controller): Step<World>[] {
  const { sandbox } = versionAt(world.versions, sees);
  if (!mayHaveNextPod(sandbox) || podIn(seesPods) !== 0 || podIn(world.pods) !== 0) return [];
  const stray = sees === world.versions.length - 1 ? 0 : 1;
  if (stray > world.left.strays) return [];
  const left = { ...world.left, strays: world.left.strays - stray };
  const made = { ...world, left, pods: world.pods + 1 };
  const next = withController(made, index, { seesPods: made.pods });
  return [{ what: `controller ${index} makes Pod ${podIn(made.pods)}`, next }];
}
