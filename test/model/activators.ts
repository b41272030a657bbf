// The actions of an activator in the model. The product's own rules decide where it may forward and what it may wake.
import { causeOf, mayForward } from "../../api/rules/suspension.ts";
import type { Reply } from "../../controller/suspension/activators/activator-replies.ts";
import { runningPatch } from "../../controller/suspension/handshake/patches.ts";
import type { Step } from "./explore.ts";
import type { Mutation } from "./mutations.ts";
import {
  type Activator,
  latest,
  type ModelRound,
  patched,
  podIn,
  podUid,
  type Request,
  replaced,
  type Tunnel,
  type Version,
  versionAt,
  type World,
} from "./world.ts";

const bit = (pod: number): number => (pod === 0 ? 0 : 1 << pod);

const withActivator = (world: World, index: number, change: Partial<Activator>): World => {
  const activator = world.activators[index];
  if (!activator) throw new Error(`there is no activator ${index}`);
  return { ...world, activators: replaced(world.activators, index, { ...activator, ...change }) };
};

/** Whether it answers calls: from before its first list until it is killed. */
export const listens = ({ life }: Activator): boolean => life !== "absent" && life !== "down";

export function activatorSteps(world: World, index: number, mutation: Mutation | undefined): Step<World>[] {
  const activator = world.activators[index];
  if (!activator) return [];
  const steps = lifeSteps(world, index, activator, mutation);
  steps.push(...deathSteps(world, index, activator), ...silenceSteps(world, index, activator));
  if (activator.life === "serving") {
    steps.push(...watchSteps(world, index, activator, mutation), ...requestSteps(world, index, activator));
  }
  return steps;
}

function lifeSteps(
  world: World,
  index: number,
  { life, saidReady }: Activator,
  mutation: Mutation | undefined,
): Step<World>[] {
  const who = `activator ${index}`;
  const to = (what: string, change: Partial<Activator>): Step<World> => ({
    what: `${who} ${what}`,
    next: withActivator(world, index, change),
  });
  const sandboxes = () => seeing(world, index, world.versions.length - 1, mutation);
  const pods = { seesPods: world.pods };
  const podsFirst = mutation === "Pods listed before Sandboxes";
  const steps: Step<World>[] = [];
  if (life === "absent") steps.push(to("is made", { life: "down" }));
  if (life === "down") steps.push(to("opens its drain listener", { life: "listening" }));
  if (life === "listening") {
    const first = podsFirst ? withActivator(world, index, pods) : sandboxes();
    const what = `${who} lists ${podsFirst ? "Pods" : "Sandboxes"}`;
    steps.push({ what, next: withActivator(first, index, { life: "halfListed" }) });
  }
  if (life === "halfListed") {
    const second = podsFirst ? sandboxes() : withActivator(world, index, pods);
    const what = `${who} lists ${podsFirst ? "Sandboxes" : "Pods"}, and serves`;
    steps.push({ what, next: withActivator(second, index, { life: "serving" }) });
  }
  const ready = life === "serving";
  if (life !== "absent" && saidReady !== ready) {
    steps.push(to(`is said to be ${ready ? "ready" : "unready"}`, { saidReady: ready }));
  }
  return steps;
}

/** A crash ends its held and forwarded requests. After a restart it has no memory. */
function deathSteps(world: World, index: number, activator: Activator): Step<World>[] {
  if (world.left.kills === 0 || !listens(activator)) return [];
  const ended = world.requests.map((request) =>
    request.at !== "client" && request.at !== "end" && request.activator === index ? ({ at: "end" } as const) : request,
  );
  const left = { ...world.left, kills: world.left.kills - 1 };
  const blank = { life: "down", sees: 0, seesPods: 0, reportedGeneration: 0, observed: 0, fenced: 0 } as const;
  return [
    { what: `activator ${index} is killed`, next: withActivator({ ...world, requests: ended, left }, index, blank) },
  ];
}

/** Its certificates do not match, or the network blocks calls to it. It keeps serving. */
function silenceSteps(world: World, index: number, activator: Activator): Step<World>[] {
  if (world.left.silences === 0 || activator.silent || activator.life !== "serving") return [];
  const left = { ...world.left, silences: world.left.silences - 1 };
  const next = withActivator({ ...world, left }, index, { silent: true });
  return [{ what: `activator ${index} stops answering`, next }];
}

/**
 * What has come to it is delivered, and asks for `Running` as soon as the suspension is in view. A tunnel that was kept at
 * the promise is closed once it is answered, and asks for nothing. A limit that passes is an answer here.
 */
function tunnelSteps(world: World, index: number, number: number, tunnel: Tunnel): Step<World>[] {
  const activator = world.activators[index];
  if (!activator) return [];
  const to = (what: string, changed: World["requests"][number], left: World["left"], broken?: string): Step<World> => ({
    what: `activator ${index} ${what} tunnel ${number}`,
    next: { ...world, left, requests: replaced(world.requests, number, changed) },
    ...(broken && { broken }),
  });
  const isKept = (activator.fenced & bit(tunnel.pod)) !== 0;
  const stirs = tunnel.byte !== "none" && !isKept;
  const steps = stirs ? wake(world, index, versionAt(world.versions, activator.sees)) : [];
  if (tunnel.unanswered !== "no") {
    const answered = isKept ? ({ at: "end" } as const) : ({ ...tunnel, unanswered: "no", under: 0 } as const);
    steps.push(to("has the answer on", answered, world.left));
  }
  if (world.left.bytes === 0) return steps;
  const byte = tunnel.asked === latest(world).generation ? "after" : "before";
  const first = tunnel.unanswered === "no" ? ({ unanswered: byte, under: activator.observed } as const) : {};
  const left = { ...world.left, bytes: world.left.bytes - 1 };
  const lost = podIn(world.pods) === tunnel.pod ? undefined : "a byte goes to a Pod that is gone";
  return [...steps, to("passes on a byte of the client of", { ...tunnel, byte, ...first }, left, lost)];
}

function watchSteps(
  world: World,
  index: number,
  { sees, seesPods, fenced }: Activator,
  mutation: Mutation | undefined,
): Step<World>[] {
  const newest = world.versions.length - 1;
  const steps: Step<World>[] = [];
  if (sees < newest) {
    const what = `activator ${index} sees version ${sees + 1} of the sandbox`;
    steps.push({ what, next: seeing(world, index, sees + 1, mutation) });
  }
  if (sees + 1 < newest) {
    const what = `activator ${index} lists Sandboxes anew and sees version ${newest}`;
    steps.push({ what, next: seeing(world, index, newest, mutation) });
  }
  if (seesPods < world.pods) {
    const seen = seesPods + 1;
    const gone = podIn(seesPods);
    const what = gone ? `activator ${index} sees Pod ${gone} gone` : `activator ${index} sees Pod ${podIn(seen)}`;
    steps.push({ what, next: withActivator(world, index, { seesPods: seen, fenced: fenced & ~bit(gone) }) });
  }
  return steps;
}

/** A version comes into its view; a seal on it is a promise, once it knows that Pod and until it has seen it gone. */
function seeing(world: World, index: number, sees: number, mutation: Mutation | undefined): World {
  const { sealed, generation, suspended, sandbox } = versionAt(world.versions, sees);
  const isFallingAsleep = suspended && causeOf(sandbox) === "Inactivity";
  const activator = world.activators[index];
  if (!activator) return world;
  const forgets = mutation === "a seal that is forgotten when it is removed";
  const seen = withActivator(world, index, {
    sees,
    reportedGeneration: generation >= activator.reportedGeneration ? 0 : activator.reportedGeneration,
    observed: generation > activator.observed && !isFallingAsleep ? 0 : activator.observed,
  });
  return forgets ? seen : fencing(seen, index, sealed, mutation);
}

/** It will never again forward to that Pod. What has not sent a byte goes back to the hold. */
function fencing(world: World, index: number, pod: number, mutation: Mutation | undefined): World {
  const activator = world.activators[index];
  // A Pod that it has seen go needs no promise.
  if (!activator || pod === 0 || activator.seesPods >= 2 * pod) return world;
  const requests = world.requests.map((request) => {
    const concerned = "pod" in request && request.activator === index && request.pod === pod;
    if (concerned && request.at === "dialing") return { at: "hold", activator: index } as const;
    if (!concerned || request.at !== "tunnel") return request;
    // What came after the suspension was observed counts as nothing.
    if (request.unanswered !== "no" && (request.under === 0 || request.under !== activator.observed)) return request;
    return mutation === "a tunnel that is left open" ? request : ({ at: "end" } as const);
  });
  return withActivator({ ...world, requests }, index, { fenced: activator.fenced | bit(pod) });
}

function requestSteps(world: World, index: number, activator: Activator): Step<World>[] {
  const view = versionAt(world.versions, activator.sees);
  return world.requests.flatMap((request, number) => {
    const moved = (what: string, to: World["requests"][number], broken?: string): Step<World> => ({
      what: `activator ${index} ${what} request ${number}`,
      next: { ...world, requests: replaced(world.requests, number, to) },
      ...(broken && { broken }),
    });
    if (request.at === "client") return [moved("takes", { at: "hold", activator: index })];
    if (request.at === "end" || request.activator !== index) return [];
    if (request.at === "tunnel") return tunnelSteps(world, index, number, request);
    if (request.at === "pod") return [moved("has the answer to", { at: "end" })];
    if (request.at === "dialing") {
      const gone = podIn(world.pods) === request.pod ? undefined : "the address of a deleted Pod is dialled";
      return [moved(`reaches Pod ${request.pod} with`, { at: "pod", activator: index, pod: request.pod }, gone)];
    }
    const pod = podIn(activator.seesPods);
    return isOpen(view, pod, activator)
      ? [moved(`counts, and dials Pod ${pod} for,`, { at: "dialing", activator: index, pod })]
      : wake(world, index, view);
  });
}

const opened = new Map<string, boolean>();

/** The product's rule, asked once for each question. */
function isOpen(view: Version, pod: number, { reportedGeneration, fenced }: Activator): boolean {
  if (pod === 0) return false;
  const key = `${view.content}/${pod}/${reportedGeneration}/${fenced}`;
  const known = opened.get(key);
  if (known !== undefined) return known;
  const pods = [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((number) => (fenced & bit(number)) !== 0);
  const fences = { reportedGeneration, fenced: new Set(pods.map(podUid)) };
  const open = mayForward(view.sandbox, podUid(pod), fences);
  opened.set(key, open);
  return open;
}

function wake(world: World, index: number, view: Version): Step<World>[] {
  if (!view.mayAskToRun) return [];
  const { metadata, spec } = runningPatch(view.sandbox);
  const next = patched(world, { metadata: { ...metadata, annotations: {} }, ...(spec && { spec }) });
  if (!next) return [];
  const broken = world.paused ? "a manual suspension is undone before it is complete" : undefined;
  // It reads the object that its own patch returned, and so knows of a seal on it.
  const seen = seeing(next, index, next.versions.length - 1, undefined);
  return [{ what: `activator ${index} asks for Running`, next: seen, ...(broken && { broken }) }];
}

/** Whether it will not forward to that Pod, by its own state alone. */
export const hasFenced = ({ life, seesPods, fenced }: Activator, pod: number): boolean =>
  life !== "serving" || seesPods >= 2 * pod || (fenced & bit(pod)) !== 0;

/** What an activator answers to a call, and the world after it has. */
export function answer(
  world: World,
  index: number,
  { asked, pod, generation }: ModelRound,
  mutation: Mutation | undefined,
): { readonly reply: Reply; readonly next: World } {
  const activator = world.activators[index];
  if (!activator || !listens(activator)) throw new Error(`activator ${index} cannot answer`);
  const seesGeneration = activator.life === "serving" ? versionAt(world.versions, activator.sees).generation : 0;
  let next = world;
  if (asked === "promise" && mutation !== "no promises") next = fencing(world, index, pod, mutation);
  if (asked === "observed" && mutation !== "observed only asks" && seesGeneration < generation) {
    next = withActivator(world, index, { reportedGeneration: Math.max(activator.reportedGeneration, generation) });
  }
  const seenUse = asked === "observed" && mutation !== "a byte that is not reported" && hasMoved(next, index, pod);
  if (asked === "observed") {
    next = { ...next, requests: next.requests.map(askedAbout(index, pod, generation)) };
    const hasTunnel = next.requests.some(({ at }) => at === "tunnel");
    if (hasTunnel && seesGeneration <= generation) next = withActivator(next, index, { observed: generation });
  }
  const countsData = mutation !== notCounted[asked];
  const inUse = next.requests.filter((request) => {
    if (request.at === "client" || request.at === "end" || request.activator !== index) return false;
    if (request.at === "tunnel") return request.pod === pod && request.unanswered !== "no" && countsData;
    return request.at === "hold" ? asked === "observed" : request.pod === pod;
  });
  const superseded = asked === "observed" && seesGeneration > generation;
  return { reply: { is: "answered", inFlight: inUse.length, idleForMs: seenUse ? 0 : undefined, superseded }, next };
}

const notCounted = {
  observed: "unanswered data that observed does not count",
  promise: "unanswered data that a promise does not count",
} as const;

const hasMoved = ({ requests }: World, index: number, pod: number): boolean =>
  requests.some((each) => each.at === "tunnel" && each.activator === index && each.pod === pod && each.byte !== "none");

const askedAbout = (index: number, pod: number, generation: number) => (request: Request) =>
  request.at === "tunnel" && request.activator === index && request.pod === pod
    ? { ...request, asked: Math.max(request.asked, generation) }
    : request;
