// The code of a state: a text with one small number in each character. Most of the time of an exploration goes into codes, so
// they are short. Each part of a code has a known length, or begins with what tells its length, so no two states share one.
import type { Reply } from "../../controller/suspension/activators/activator-replies.ts";
import type { Activator, Controller, Image, ModelRound, Request, World } from "./world.ts";

const lives = { absent: 0, down: 1, listening: 2, halfListed: 3, serving: 4 } as const;
const times = { none: 0, no: 0, before: 1, after: 2 } as const;
const places = { client: 0, end: 1, hold: 2, dialing: 3, pod: 4, tunnel: 5 } as const;
const questions = { observed: 1, promise: 2 } as const;
/** An activator that reads nothing of the sandbox yet. No difference of versions is as large. */
const noView = 0xff;

function codeOfRequest(request: Request): string {
  const place = places[request.at];
  if (request.at === "client" || request.at === "end") return String.fromCharCode(place);
  if (request.at === "hold") return String.fromCharCode(place, request.activator);
  if (request.at !== "tunnel") return String.fromCharCode(place, request.activator, request.pod);
  const { activator, pod, asked, byte, unanswered, under } = request;
  return String.fromCharCode(place, activator, pod, asked, times[byte], times[unanswered], under);
}

function codeOfReply(reply: Reply | "unlisted" | undefined): string {
  if (reply === undefined) return "\0";
  if (reply === "unlisted") return "\x01";
  if (reply.is === "absent") return "\x02";
  if (reply.is === "silent") return String.fromCharCode(3, reply.forMs / 1_000);
  const { inFlight, superseded, idleForMs } = reply;
  return String.fromCharCode(4, inFlight, superseded ? 1 : 0, idleForMs === undefined ? 0 : 1 + idleForMs);
}

export function codeOfRound(round: ModelRound | undefined): string {
  if (!round) return "\0";
  let code = String.fromCharCode(questions[round.asked], round.pod, round.generation);
  for (const reply of round.replies) code += codeOfReply(reply);
  return code;
}

const agents = { idle: 0, frozen: 1, captured: 2, failed: 3 } as const;

export function codeOfImages(images: readonly Image[]): string {
  let code = String.fromCharCode(images.length);
  for (const { run, asked, agent, late, givenUp, used } of images) {
    const flags = (asked ? 1 : 0) + (late ? 2 : 0) + (givenUp ? 4 : 0) + (used ? 8 : 0);
    code += String.fromCharCode(run, agents[agent], flags);
  }
  return code;
}

const codeOfController = ({ sees, seesPods, seesImages, round, heardFenced }: Controller, newest: number): string =>
  String.fromCharCode(newest - sees, seesPods, heardFenced) + codeOfImages(seesImages) + codeOfRound(round);

function codeOfActivator(activator: Activator, newest: number): string {
  const { life, silent, saidReady, sees, seesPods, reportedGeneration, observed, fenced } = activator;
  const isSaid = (saidReady ? 1 : 0) + (silent ? 2 : 0);
  const view = hasView(activator) ? newest - sees : noView;
  return String.fromCharCode(lives[life], isSaid, view, seesPods, reportedGeneration, observed, fenced);
}

const hasView = ({ life }: Activator): boolean => life === "serving" || life === "halfListed";

/**
 * Controllers and requests are interchangeable, so their order does not matter. Versions count from the newest, so
 * that a sandbox that returns to a former state is in the same state.
 */
export function encode(world: World): string {
  const { versions, pods, controllers, activators, requests, left, paused, refuses, images, run } = world;
  const newest = versions.length - 1;
  let oldest = newest;
  for (const { sees } of controllers) oldest = Math.min(oldest, sees);
  for (const activator of activators) if (hasView(activator)) oldest = Math.min(oldest, activator.sees);
  const { sleeps, pauses, resumes, edits, replacements, kills, silences, unneededPods, bytes, refusals } = left;
  let code = String.fromCharCode(
    ...[pods, paused, sleeps, pauses, resumes, edits, replacements, kills, silences, unneededPods, bytes],
    ...[refusals, refuses ? 1 : 0, newest - oldest, left.runs, run],
  );
  code += codeOfImages(images);
  for (let index = oldest; index <= newest; index += 1) code += String.fromCharCode(versions[index]?.content ?? 0);
  code += inAnyOrder(controllers.map((controller) => codeOfController(controller, newest)));
  for (const activator of activators) code += codeOfActivator(activator, newest);
  return code + inAnyOrder(requests.map(codeOfRequest));
}

const inAnyOrder = (codes: readonly string[]): string =>
  codes.length > 1 ? codes.toSorted().join("") : (codes[0] ?? "");
