// The product's decisions, computed once for each situation of the model.

import { longestSilenceMs, usualSilenceLimitMs } from "../../controller/suspension/activators/silence.ts";
import {
  decideSuspension,
  type Round,
  type SuspensionStep,
} from "../../controller/suspension/handshake/decide-suspension.ts";
import type { Capture } from "../../controller/suspension/hibernation/capture-state.ts";
import { noon } from "../support/builders/builders.ts";
import { hasFenced } from "./activators.ts";
import { Codes } from "./codes.ts";
import { asTheyAre, encodeRound } from "./encode.ts";
import type { Mutation } from "./mutations.ts";
import { type ModelRound, podUid, type Version, type World } from "./world.ts";

export interface ConnectDeps {
  readonly mutation: Mutation | undefined;
  readonly lossy: boolean;
  readonly drainEnds: boolean;
  readonly rejectsSeals: boolean;
  readonly silences: boolean;
  readonly replaces: boolean;
  readonly wakes: boolean;
  readonly rejectsPods: boolean;
}

const drainOverMs = 60_000;
const memoryRefusal = { reason: "NoProvider", message: "the controller runs without --hibernation" } as const;

/**
 * How long the Pod has been sealed. Five minutes are longer than any watch lags: an activator that cannot be asked has seen
 * the seal by then, or no longer forwards anything.
 */
export function agesOf({ activators }: World, { sealed }: Version, { drainEnds, silences, mutation }: ConnectDeps) {
  const knows = activators.every((activator) => !activator.silent || hasFenced(activator, sealed));
  if (!sealed || !knows) return [0];
  const waits = mutation === "a sealed Pod that waits for a silent activator without end";
  return [0, ...(drainEnds ? [drainOverMs] : []), ...(silences && !waits ? [longestSilenceMs] : [])];
}

/** The input of a decision. */
interface Question {
  readonly view: Version;
  readonly round: ModelRound | undefined;
  readonly sealedForMs: number;
  readonly heardFenced: number;
  readonly refuses: boolean;
  readonly capture: Capture;
  readonly around: ConnectDeps;
}

const situations = new Codes();
const decided: SuspensionStep[] = [];
const captures = { none: 0, due: 1, over: 2, underWay: 3 } as const;

/** The product's decision, computed once for each situation. */
export function decide(
  { view, round, sealedForMs, heardFenced, refuses, capture, around }: Question,
  pod: number,
  podIsFresh: boolean,
): SuspensionStep {
  const isHasty = around.mutation === "a silent activator that counts for five minutes";
  const silenceLimitMs = isHasty ? longestSilenceMs : usualSilenceLimitMs;
  const podIsFenced = pod !== 0 && (heardFenced & (1 << pod)) !== 0;
  const isRefused = refuses && around.mutation !== "a refusal that is not asked for before the seal";
  const isLate = capture.is === "underWay" && capture.leftMs <= 0;
  situations.put(view.content);
  situations.put(pod);
  situations.put(
    (podIsFresh ? 1 : 0) + (podIsFenced ? 2 : 0) + (isRefused ? 4 : 0) + (isLate ? 8 : 0) + (isHasty ? 16 : 0),
  );
  situations.put(captures[capture.is]);
  situations.put(sealedForMs / 1_000);
  encodeRound(round, asTheyAre, situations);
  const situation = situations.end();
  const known = decided[situation];
  if (known) return known;
  const step = decideSuspension({
    sandbox: view.sandbox,
    pod: pod ? { name: "nova", uid: podUid(pod), terminating: false } : undefined,
    podIsFresh,
    podIsFenced,
    round: round && productRound(round),
    sealedForMs,
    silenceLimitMs,
    capture,
    memoryRefusal: isRefused ? memoryRefusal : undefined,
    now: new Date(noon),
  });
  decided[situation] = step;
  return step;
}

function productRound({ asked, pod, generation, replies: all }: ModelRound): Round {
  const replies = all.filter((reply) => reply !== undefined && reply !== "unlisted");
  const about = podUid(pod);
  return asked === "observed" ? { asked, podUid: about, generation, replies } : { asked, podUid: about, replies };
}
