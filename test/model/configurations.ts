// The configurations of the model that are explored. The small ones together reach every rule in seconds, with at most `smallStatesMax`
// states each: `npm test` explores them. The large ones combine them, and take minutes and gigabytes: `npm run soak -- --only=model`.
import type { Limits } from "./world.ts";

const one: Limits = {
  requests: 1,
  tunnels: 0,
  bytes: 0,
  sleeps: 1,
  pauses: 0,
  resumes: 0,
  edits: 0,
  replacements: 0,
  kills: 0,
  silences: 0,
  unneededPods: 0,
  activators: { early: 1, late: 0 },
  controllers: 1,
  lossy: false,
  refusals: 0,
  captures: false,
  runs: 0,
  drainEnds: false,
  rejectsSeals: false,
  wakes: 0,
  rejectsPods: false,
};
const captures = { captures: true } as const;
/** Each person's suspension ends with its drain, and few other states are left. */
const withoutActivators = { requests: 0, sleeps: 0, drainEnds: true, activators: { early: 0, late: 0 } } as const;
const oneWake = { pauses: 1, resumes: 1, wakes: 1 } as const;
const muchAtAWake = { controllers: 2, kills: 1, rejectsPods: true } as const;
const twoActivators = { early: 1, late: 1 };

/** What a small configuration may have. A larger one belongs to the large ones. */
export const smallStatesMax = 70_000;

export interface Configuration {
  readonly about: string;
  readonly limits: Limits;
}

export const small: readonly Configuration[] = [
  {
    about: "it sleeps while a second activator starts, and two requests come",
    limits: { ...one, requests: 2, activators: twoActivators },
  },
  {
    about: "it sleeps, one of two activators is killed, and answers are lost",
    limits: { ...one, kills: 1, lossy: true, activators: { early: 2, late: 0 } },
  },
  {
    about: "it sleeps, and it is suspended and resumed manually, and the drain timeout expires",
    limits: { ...one, requests: 2, pauses: 1, resumes: 1, drainEnds: true, lossy: true },
  },
  {
    about: "it sleeps, and a Ready activator stops answering while it forwards",
    limits: { ...one, silences: 1, activators: twoActivators },
  },
  {
    about: "it sleeps, it is suspended manually, and a Ready activator stops answering while it forwards",
    limits: { ...one, pauses: 1, silences: 1, drainEnds: true },
  },
  {
    about: "it sleeps under an idle tunnel with one byte, and its activator stops answering",
    limits: { ...one, tunnels: 1, bytes: 1, silences: 1 },
  },
  {
    about: "it sleeps under an idle tunnel with one byte, a request comes, and answers are lost",
    limits: { ...one, tunnels: 1, bytes: 1, lossy: true },
  },
  {
    about: "it sleeps, is edited three times, and a request comes",
    limits: { ...one, edits: 3 },
  },
  {
    about: "it sleeps, is edited twice, and it is suspended manually, and the drain timeout expires",
    limits: { ...one, edits: 2, pauses: 1, drainEnds: true },
  },
  {
    about:
      "it sleeps, and it is suspended manually, under a tunnel with one byte and is answered, with a drain that ends",
    limits: { ...one, tunnels: 1, bytes: 1, pauses: 1, drainEnds: true },
  },
  {
    about: "it is suspended manually while a second activator starts, and one is killed",
    limits: { ...one, sleeps: 0, pauses: 1, kills: 1, activators: twoActivators },
  },
  {
    about: "it is suspended manually, and two controllers lead",
    limits: { ...one, requests: 2, sleeps: 0, pauses: 1, controllers: 2 },
  },
  {
    about: "it sleeps, and two controllers lead, and one of them creates an unneeded Pod",
    limits: { ...one, controllers: 2, unneededPods: 1 },
  },
  {
    about: "it is suspended manually, replaced as a whole, and a request comes",
    limits: { ...one, sleeps: 0, pauses: 1, replacements: 1, drainEnds: true },
  },
  {
    about: "it sleeps, is replaced as a whole, and a request comes",
    limits: { ...one, replacements: 1 },
  },
  {
    about: "it sleeps, and it is suspended manually, and seals are rejected",
    limits: { ...one, pauses: 1, rejectsSeals: true },
  },
  {
    about: "it sleeps under an idle tunnel with one byte, and seals are rejected",
    limits: { ...one, tunnels: 1, bytes: 1, rejectsSeals: true },
  },
  {
    about: "it would rather stay awake, and its memory can be kept, then not, then again",
    limits: { ...one, refusals: 2, activators: twoActivators },
  },
  {
    about: "it would rather stay awake, it is suspended manually and by inactivity, and its memory cannot be kept",
    limits: { ...one, refusals: 1, pauses: 1, resumes: 1, drainEnds: true },
  },
  {
    about: "it would rather stay awake, its memory cannot be kept, and two controllers lead",
    limits: { ...one, refusals: 1, controllers: 2 },
  },
  {
    about: "it sleeps with its memory, and a request comes",
    limits: { ...one, ...captures },
  },
  {
    about: "it is suspended manually with its memory, it is resumed, and what it runs changes",
    limits: { ...one, ...captures, requests: 0, sleeps: 0, pauses: 1, resumes: 1, runs: 1 },
  },
  {
    about: "it is suspended manually with its memory, and replaced as a whole",
    limits: { ...one, ...captures, sleeps: 0, pauses: 1, replacements: 1, drainEnds: true },
  },
  {
    about: "it sleeps with its memory if that can be kept, which changes",
    limits: { ...one, ...captures, refusals: 1 },
  },
  {
    about: "it is suspended manually with its memory, and two controllers lead",
    limits: { ...one, ...captures, requests: 0, sleeps: 0, pauses: 1, controllers: 2 },
  },
  {
    about: "it wakes twice with its memory, one call at a time, and its controller dies, and its Pods are rejected",
    limits: { ...one, ...withoutActivators, ...captures, pauses: 2, resumes: 2, wakes: 2, rejectsPods: true },
  },
];

export const large: readonly Configuration[] = [
  {
    about: "it sleeps while a second activator starts, one is killed, and answers are lost",
    limits: { ...one, kills: 1, lossy: true, activators: twoActivators },
  },
  {
    about:
      "it wakes with its memory, one call at a time, and two controllers lead, its Pod ends, and its Pods are rejected",
    limits: { ...one, ...withoutActivators, ...captures, ...oneWake, ...muchAtAWake },
  },
  {
    about: "it sleeps with its memory if that can be kept, which changes, and a second activator starts",
    limits: { ...one, ...captures, refusals: 1, activators: twoActivators },
  },
  {
    about: "it is suspended manually with its memory, a request comes, and two controllers lead",
    limits: { ...one, ...captures, sleeps: 0, pauses: 1, controllers: 2 },
  },
  {
    about: "it sleeps while two requests come, and a Ready activator stops answering while it forwards",
    limits: { ...one, requests: 2, silences: 1, activators: twoActivators },
  },
  {
    about: "it sleeps under an idle tunnel with bytes, a request comes, and an activator is killed",
    limits: { ...one, tunnels: 1, bytes: 2, kills: 1, activators: twoActivators },
  },
  {
    about: "it sleeps under an idle tunnel with bytes, a request comes, and it is suspended manually",
    limits: { ...one, tunnels: 1, bytes: 2, pauses: 1, lossy: true },
  },
  {
    about: "it sleeps twice under two idle tunnels with bytes, and two controllers lead",
    limits: { ...one, sleeps: 2, tunnels: 2, bytes: 2, controllers: 2 },
  },
  {
    about: "it sleeps, it is suspended manually, and two controllers lead",
    limits: { ...one, pauses: 1, controllers: 2 },
  },
  {
    about: "it sleeps while a second activator starts, one is killed, two requests come, and answers are lost",
    limits: { ...one, requests: 2, kills: 1, lossy: true, activators: twoActivators },
  },
  {
    about: "it sleeps, it is suspended manually, and a second activator starts",
    limits: { ...one, pauses: 1, activators: twoActivators },
  },
  {
    about: "it sleeps while a second activator starts, and two controllers lead",
    limits: { ...one, controllers: 2, activators: twoActivators },
  },
  {
    about: "it sleeps, is replaced as a whole, and two controllers lead",
    limits: { ...one, replacements: 1, controllers: 2 },
  },
];

/** The configurations in which each rule is needed. */
export const whereMutationsShow: Limits = { ...one, activators: twoActivators };
export const whereTunnelsShow: Limits = { ...one, requests: 0, tunnels: 1, bytes: 1 };
export const wherePausedTunnelsShow: Limits = { ...whereTunnelsShow, sleeps: 0, pauses: 1 };
export const whereSilenceShows: Limits = { ...one, silences: 1 };
export const whereReplacementShows: Limits = { ...one, sleeps: 0, pauses: 1, replacements: 1 };
export const whereRejectionShows: Limits = { ...one, sleeps: 0, pauses: 1, rejectsSeals: true };
export const whereRefusalShows: Limits = { ...one, pauses: 1, refusals: 1 };
export const whereLateMemoryShows: Limits = { ...one, ...captures, sleeps: 0, pauses: 1 };
export const whereOldMemoryShows: Limits = {
  ...{ ...one, ...withoutActivators, ...captures },
  ...{ pauses: 2, resumes: 2, runs: 2 },
};
export const whereFrozenPodsShow: Limits = {
  ...{ ...one, ...withoutActivators, ...captures },
  ...{ pauses: 1, replacements: 1 },
};
export const whereGatedPodsShow: Limits = { ...one, ...withoutActivators, ...captures, ...oneWake };
export const whereWakesShow: Limits = { ...whereGatedPodsShow, ...muchAtAWake };
/** As there, but no Pod ends. With such an end it is one of the large configurations. */
export const whereWakesAreSound: Limits = { ...whereWakesShow, kills: 0 };
export const whereTrustShows: Limits = { ...one, pauses: 1, controllers: 2 };
