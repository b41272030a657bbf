// The handshake of a suspension with all its parties, whose steps may come in any order.
import { activatorSteps } from "./activators.ts";
import { controllerSteps } from "./controllers.ts";
import { encode } from "./encode.ts";
import type { Model, Step } from "./explore.ts";
import { agentSteps, isFrozen, newImage, runSteps } from "./memory.ts";
import type { Mutation } from "./mutations.ts";
import { nodeSteps } from "./wake.ts";
import {
  type Activator,
  edited,
  firstVersion,
  type Limits,
  latest,
  manifestWritten,
  patched,
  podIn,
  type World,
} from "./world.ts";

const absent: Activator = {
  life: "absent",
  silent: false,
  saidReady: false,
  sees: 0,
  seesPods: 0,
  reportedGeneration: 0,
  observed: 0,
  fenced: 0,
};
const quietTunnel = { at: "tunnel", activator: 0, pod: 1, asked: 0, byte: "none", unanswered: "no", under: 0 } as const;
const repeat = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value);

function start(limits: Limits): World {
  const { sleeps, pauses, resumes, edits, replacements, kills, silences, unneededPods, bytes, refusals, runs, wakes } =
    limits;
  const images = limits.captures ? [newImage(0)] : [];
  const { early, late } = limits.activators;
  return {
    versions: [firstVersion(limits)],
    pods: 1,
    controllers: repeat(limits.controllers, {
      sees: 0,
      seesPods: 1,
      seesImages: images,
      round: undefined,
      heardFenced: 0,
      waking: undefined,
    }),
    activators: [
      ...repeat(early, { ...absent, life: "serving", saidReady: true, seesPods: 1 } as const),
      ...repeat(late, absent),
    ],
    requests: [...repeat(limits.requests, { at: "client" } as const), ...repeat(limits.tunnels, quietTunnel)],
    left: { sleeps, pauses, resumes, edits, replacements, kills, silences, unneededPods, bytes, refusals, runs, wakes },
    images,
    run: 0,
    refuses: false,
    gated: false,
    asks: 0,
    lived: 1,
    paused: 0,
  };
}

/** A user writes the mode without a version. A write of the current mode changes nothing. */
function personSteps(world: World): Step<World>[] {
  const { left } = world;
  const operatingMode = latest(world).suspended ? "Running" : "Suspended";
  if ((operatingMode === "Running" ? left.resumes : left.pauses) === 0) return [];
  const next = patched(world, { spec: { operatingMode } });
  if (!next) return [];
  if (operatingMode === "Running") {
    return [{ what: "a user writes Running", next: { ...next, left: { ...left, resumes: left.resumes - 1 } } }];
  }
  const pod = podIn(world.pods);
  const paused = latest(world).sealed === pod ? 0 : pod;
  return [{ what: "a user writes Suspended", next: { ...next, paused, left: { ...left, pauses: left.pauses - 1 } } }];
}

/** A node agent is installed or goes, or somebody debugs the Pod. */
function refusalSteps(world: World): Step<World>[] {
  const { left, refuses } = world;
  if (left.refusals === 0) return [];
  const what = `memory can${refuses ? "" : "not"} be kept from now on`;
  return [{ what, next: { ...world, refuses: !refuses, left: { ...left, refusals: left.refusals - 1 } } }];
}

/** An edit of another field, such as a label of its template, or `keepAwakeUntil`. */
function editSteps(world: World): Step<World>[] {
  const { left } = world;
  const next = left.edits === 0 ? undefined : edited(world);
  return next
    ? [{ what: "a user edits another field", next: { ...next, left: { ...left, edits: left.edits - 1 } } }]
    : [];
}

/** `kubectl replace` with a manifest: a seal is lost with the other annotations. */
function replacementSteps(world: World): Step<World>[] {
  const { left } = world;
  const next = left.replacements === 0 ? undefined : manifestWritten(world);
  if (!next) return [];
  const replacements = left.replacements - 1;
  return [{ what: "a user replaces the sandbox", next: { ...next, left: { ...left, replacements } } }];
}

const others = [personSteps, refusalSteps, agentSteps, nodeSteps, runSteps, editSteps, replacementSteps];

export function handshake(limits: Limits, mutation?: Mutation): Model<World> {
  const around = {
    mutation,
    lossy: limits.lossy,
    drainEnds: limits.drainEnds,
    rejectsSeals: limits.rejectsSeals,
    silences: limits.silences > 0,
    replaces: limits.replacements > 0,
    wakes: limits.wakes > 0,
    rejectsPods: limits.rejectsPods,
  };
  return {
    initial: start(limits),
    encode,
    steps: (world) => {
      const steps: Step<World>[] = [];
      // Millions of states ask for their steps, most of them for few: `push` copies less than an array of all parts.
      for (let index = 0; index < world.controllers.length; index += 1) {
        steps.push(...controllerSteps(world, index, around));
      }
      for (let index = 0; index < world.activators.length; index += 1) {
        steps.push(...activatorSteps(world, index, mutation));
      }
      for (const stepsOfOthers of others) steps.push(...stepsOfOthers(world));
      return steps;
    },
    isSettled: (world) =>
      world.requests.every(({ at }) => at === "end" || at === "tunnel") &&
      latest(world).sealed === 0 &&
      (!latest(world).suspended || podIn(world.pods) === 0) &&
      !world.gated &&
      world.asks === 0 &&
      !isFrozen(world),
  };
}
