// The code of a state. Each part of a code has a known length, or begins with what tells its length, so no two states share one.
import type { Reply } from "../../controller/suspension/activators/activator-replies.ts";
import type { Codes } from "./codes.ts";
import type { Activator, Controller, Image, ModelRound, Request, Waking, World } from "./world.ts";

const lives = { absent: 0, down: 1, listening: 2, halfListed: 3, serving: 4 } as const;
const times = { none: 0, no: 0, before: 1, after: 2 } as const;
const places = { client: 0, end: 1, hold: 2, dialing: 3, pod: 4, tunnel: 5 } as const;
const questions = { observed: 1, promise: 2 } as const;
const ways = ["giveUp", "create", "confirm", "sign"] as const;
const agents = { idle: 0, frozen: 1, captured: 2, failed: 3 } as const;
/** An activator that reads nothing of the sandbox yet. No difference of versions is as large. */
const noView = 0xff;

/** The indices of the activators, in the order of the code. */
type Order = readonly number[];
export const asTheyAre: Order = [0, 1];
const exchanged: Order = [1, 0];

/** Of two activators the one that has done less comes first. Where neither has, there are two codes for what is one state. */
function orderOf(activators: readonly Activator[]): Order {
  if (activators.length > 2) throw new Error("there are more than two activators");
  const one = activators[0];
  const other = activators[1];
  return one && other && rankOf(one) > rankOf(other) ? exchanged : asTheyAre;
}

/** Each factor is larger than any value of its number. */
function rankOf(activator: Activator): number {
  const { life, silent, saidReady, sees } = activator;
  const { seesPods, reportedGeneration, observed, fenced } = activator;
  const is = lives[life] * 4 + (saidReady ? 2 : 0) + (silent ? 1 : 0);
  return ((((is * 64 + sees) * 64 + seesPods) * 64 + reportedGeneration) * 64 + observed) * 1_024 + fenced;
}

function encodeRequest(request: Request, order: Order, codes: Codes): void {
  codes.put(places[request.at]);
  if (request.at === "client" || request.at === "end") return;
  codes.put(order.indexOf(request.activator));
  if (request.at === "hold") return;
  codes.put(request.pod);
  if (request.at !== "tunnel") return;
  codes.put(request.asked);
  codes.put(times[request.byte]);
  codes.put(times[request.unanswered]);
  codes.put(request.under);
}

function encodeReply(reply: Reply | "unlisted" | undefined, codes: Codes): void {
  if (reply === undefined) return codes.put(0);
  if (reply === "unlisted") return codes.put(1);
  if (reply.is === "absent") return codes.put(2);
  if (reply.is === "silent") {
    codes.put(3);
    return codes.put(reply.forMs / 1_000);
  }
  const { inFlight, superseded, idleForMs } = reply;
  codes.put(superseded ? 5 : 4);
  codes.put(inFlight);
  codes.put(idleForMs === undefined ? 0 : 1 + idleForMs);
}

export function encodeRound(round: ModelRound | undefined, order: Order, codes: Codes): void {
  if (!round) return codes.put(0);
  codes.put(questions[round.asked]);
  codes.put(round.pod);
  codes.put(round.generation);
  for (let at = 0; at < round.replies.length; at += 1) encodeReply(round.replies[order[at] ?? at], codes);
}

export function encodeImages(images: readonly Image[], codes: Codes): void {
  codes.put(images.length);
  for (const { run, asked, agent, late, givenUp, used, told } of images) {
    const flags = (asked ? 1 : 0) + (late ? 2 : 0) + (givenUp ? 4 : 0) + (used ? 8 : 0);
    codes.put(flags + 16 * agents[agent] + 64 * run + (told ? 128 : 0));
  }
}

function encodeWaking(waking: Waking | undefined, codes: Codes): void {
  if (!waking) return codes.put(0);
  codes.put(1 + ways.indexOf(waking.at) + 8 * waking.run);
  codes.put(waking.from + 256 * waking.pod);
  codes.put(waking.unusable.length);
  for (const pod of waking.unusable) codes.put(pod);
}

function encodeController(controller: Controller, newest: number, order: Order, codes: Codes): void {
  codes.put(newest - controller.sees);
  codes.put(controller.seesPods);
  codes.put(controller.heardFenced);
  encodeImages(controller.seesImages, codes);
  encodeWaking(controller.waking, codes);
  encodeRound(controller.round, order, codes);
}

function encodeActivator(activator: Activator, newest: number, codes: Codes): void {
  codes.put(lives[activator.life] + (activator.saidReady ? 8 : 0) + (activator.silent ? 16 : 0));
  codes.put(hasView(activator) ? newest - activator.sees : noView);
  codes.put(activator.seesPods);
  codes.put(activator.reportedGeneration);
  codes.put(activator.observed);
  codes.put(activator.fenced);
}

const hasView = ({ life }: Activator): boolean => life === "serving" || life === "halfListed";

/** How often each thing may still happen, two in one unit. */
function encodeLeft(left: World["left"], codes: Codes): void {
  codes.put(left.sleeps * 256 + left.pauses);
  codes.put(left.resumes * 256 + left.edits);
  codes.put(left.replacements * 256 + left.kills);
  codes.put(left.silences * 256 + left.unneededPods);
  codes.put(left.bytes * 256 + left.refusals);
  codes.put(left.runs * 256 + left.wakes);
}

/**
 * Controllers, activators and requests are interchangeable, so their order does not matter. Versions count from the newest, so
 * that a sandbox that returns to a former state is in the same state.
 */
export function encode(world: World, codes: Codes): void {
  const { versions, controllers, activators } = world;
  const newest = versions.length - 1;
  let oldest = newest;
  for (const { sees } of controllers) oldest = Math.min(oldest, sees);
  for (const activator of activators) if (hasView(activator)) oldest = Math.min(oldest, activator.sees);
  codes.put(world.pods);
  codes.put(world.paused);
  codes.put(world.refuses ? 1 : 0);
  codes.put(world.run);
  codes.put(world.lived + (world.gated ? 256 : 0));
  codes.put(world.asks);
  encodeLeft(world.left, codes);
  encodeImages(world.images, codes);
  codes.put(newest - oldest);
  for (let index = oldest; index <= newest; index += 1) codes.put(versions[index]?.content ?? 0);
  const order = orderOf(activators);
  codes.putInAnyOrder(controllers, (controller) => encodeController(controller, newest, order, codes));
  for (let at = 0; at < activators.length; at += 1) {
    const activator = activators[order[at] ?? at];
    if (activator) encodeActivator(activator, newest, codes);
  }
  codes.putInAnyOrder(world.requests, (request) => encodeRequest(request, order, codes));
}
