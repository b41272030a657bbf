// The state of the model: one sandbox in an API whose reads are consistent and whose watches lag, its Pods, and everybody
// who acts on them. Values are never changed, so that states share what is equal.
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { mayAskToRun, sealOf } from "../../api/rules/suspension.ts";
import type { Reply } from "../../controller/suspension/activators/activator-replies.ts";
import type { SandboxPatch } from "../../controller/suspension/handshake/patches.ts";
import { aSandbox } from "../support/builders/builders.ts";

/** How the model departs from the design, one rule at a time, to show that each is needed. */
export type Mutation =
  | "a seal that is not under the version of the sandbox"
  | "observed only asks"
  | "no promises"
  | "Pods listed before Sandboxes"
  | "a seal that is forgotten when it is taken off"
  | "a store that is trusted"
  | "a tunnel that is left open"
  | "a byte that is not told of"
  | "unanswered data that observed does not count"
  | "unanswered data that a promise does not count"
  | "a silent activator that counts for five minutes"
  | "a sealed Pod that waits for a silent activator for ever";

export interface Limits {
  readonly requests: number;
  /** Connections that are open to Pod 1 from the start, and do not keep it by being open. */
  readonly tunnels: number;
  /** How many bytes may come on them. */
  readonly bytes: number;
  /** How often the sandbox may be put to sleep by inactivity. */
  readonly sleeps: number;
  /** How often a person may suspend it. */
  readonly pauses: number;
  /** How often a person may let it run. */
  readonly resumes: number;
  /** How often somebody may edit another field of the sandbox. */
  readonly edits: number;
  /** How often an activator may be killed; it may start again. */
  readonly kills: number;
  /** How many activators may stop to answer the controller, though they are Ready and go on carrying. */
  readonly deafness: number;
  /** How often a controller may make a Pod that the sandbox no longer asks for, because its store is behind. */
  readonly strays: number;
  /** How many activators there are at the start, and how many may start late. */
  readonly activators: { readonly early: number; readonly late: number };
  /** All of them believe that they lead. */
  readonly controllers: number;
  /** Whether answers to calls may get lost. */
  readonly lossy: boolean;
  /** Whether the time of a person's drain may run out. */
  readonly drainEnds: boolean;
}

/** A version of the sandbox, and what the rules of the product say about it. */
export interface Version {
  readonly sandbox: Stored<Sandbox>;
  /** Equal for versions that differ in nothing but their number. */
  readonly content: number;
  readonly generation: number;
  readonly suspended: boolean;
  /** Number of the Pod that is sealed; 0: none. */
  readonly sealed: number;
  readonly mayAskToRun: boolean;
}

/**
 * Pods come and go one after the other, so one number tells it all: odd while a Pod is there, even while none is.
 * Pod 1 is made by the step to 1 and deleted by the step to 2, Pod 2 is made by the step to 3.
 */
export type PodEra = number;
export const podIn = (era: PodEra): number => (era % 2 === 1 ? (era + 1) / 2 : 0);
export const podUid = (pod: number): string => `pod-${pod}`;
export const podNumber = (uid: string): number => Number(uid.slice("pod-".length));

export interface Controller {
  /** Index of the version that its store shows. */
  readonly sees: number;
  readonly seesPods: PodEra;
  readonly round: ModelRound | undefined;
}

export interface ModelRound {
  readonly asked: "observed" | "promise";
  readonly pod: number;
  readonly generation: number;
  /** By activator; undefined: not asked yet, `unlisted`: was not there when the round began. */
  readonly replies: readonly (Reply | "unlisted" | undefined)[];
}

export interface Activator {
  /** `listening`: its drain port is open; `halfListed`: it has the first of its two lists; `serving`: it has both. */
  readonly life: "absent" | "down" | "listening" | "halfListed" | "serving";
  /** It takes no calls, and serves all the same. */
  readonly deaf: boolean;
  /** What the API says of its Pod, which may be old news. */
  readonly saidReady: boolean;
  readonly sees: number;
  readonly seesPods: PodEra;
  readonly reportedGeneration: number;
  /** The generation of the last suspension that it was asked about and that still stands; kept where there are tunnels. */
  readonly observed: number;
  /** A bit for each Pod that it will not forward to. */
  readonly fenced: number;
}

/** Where a request is: `dialing` counts as in flight, and has not sent a byte. */
export type Request =
  | { readonly at: "client" }
  | { readonly at: "hold"; readonly activator: number }
  | { readonly at: "dialing" | "pod"; readonly activator: number; readonly pod: number }
  | Tunnel
  | { readonly at: "end" };

export interface Tunnel {
  readonly at: "tunnel";
  readonly activator: number;
  readonly pod: number;
  /** The generation of the suspension for which its activator has said how idle it is; 0: none. */
  readonly asked: number;
  /** Whether a byte came since the last intent: `before` or `after` its activator was asked. */
  readonly byte: "none" | "before" | "after";
  /** Whether the sandbox has not answered what its client sent last, and when that came, as `byte` says it. */
  readonly unanswered: "no" | "before" | "after";
  /** What its activator's `observed` was then; 0 also while nothing is unanswered. */
  readonly under: number;
}

export interface World {
  readonly versions: readonly Version[];
  readonly pods: PodEra;
  readonly controllers: readonly Controller[];
  readonly activators: readonly Activator[];
  readonly requests: readonly Request[];
  readonly left: Pick<Limits, "sleeps" | "pauses" | "resumes" | "edits" | "kills" | "deafness" | "strays" | "bytes">;
  /** The Pod that a person has suspended and that is neither doomed nor gone since; 0: none. */
  readonly paused: number;
}

export const latest = ({ versions }: World): Version => versionAt(versions, versions.length - 1);

export function versionAt(versions: readonly Version[], index: number): Version {
  const version = versions[index];
  if (!version) throw new Error(`there is no version ${index}`);
  return version;
}

const contents = new Map<string, number>();
const interned = new Map<string, Version>();

/** The version with this number; equal ones are one object, so that the rules are asked once for each. */
function versionOf(sandbox: Sandbox, index: number): Version {
  const { generation = 0, annotations } = sandbox.metadata;
  const code = JSON.stringify([sandbox.spec.operatingMode, generation, annotations, sandbox.status]);
  const content = contents.get(code) ?? contents.size;
  contents.set(code, content);
  const key = `${content}/${index}`;
  const known = interned.get(key);
  if (known) return known;
  const stored = { ...aSandbox(), ...sandbox, metadata: { ...aSandbox().metadata, ...sandbox.metadata } };
  const version: Version = {
    sandbox: { ...stored, metadata: { ...stored.metadata, resourceVersion: String(index) } },
    content,
    generation,
    suspended: sandbox.spec.operatingMode === "Suspended",
    sealed: podNumber(sealOf(sandbox)?.podUid ?? podUid(0)),
    mayAskToRun: mayAskToRun(sandbox),
  };
  interned.set(key, version);
  return version;
}

export const firstVersion = (): Version =>
  versionOf(aSandbox({ operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 60 } }), 0);

/** The API server takes a merge patch; undefined: a conflict. */
export function patched(world: World, patch: Partial<SandboxPatch>): World | undefined {
  const { sandbox } = latest(world);
  const { resourceVersion, annotations: changes = {} } = patch.metadata ?? {};
  if (resourceVersion !== undefined && resourceVersion !== sandbox.metadata.resourceVersion) return undefined;
  const merged = Object.entries({ ...sandbox.metadata.annotations, ...changes }).filter(([, value]) => value !== null);
  const annotations = Object.fromEntries(merged) as Readonly<Record<string, string>>;
  const { operatingMode = sandbox.spec.operatingMode ?? "Running" } = patch.spec ?? {};
  const generation = (sandbox.metadata.generation ?? 0) + (operatingMode === sandbox.spec.operatingMode ? 0 : 1);
  return stored(world, {
    ...sandbox,
    metadata: { ...sandbox.metadata, annotations, generation },
    spec: { ...sandbox.spec, operatingMode },
  });
}

/** The API server takes an edit of another field than the mode: a generation more. */
export function edited(world: World): World | undefined {
  const { sandbox } = latest(world);
  const { generation = 0 } = sandbox.metadata;
  return stored(world, { ...sandbox, metadata: { ...sandbox.metadata, generation: generation + 1 } });
}

/** The API server takes a status, which is not conditional on anything. */
export function withStatus(world: World, status: Sandbox["status"] & object): World | undefined {
  return stored(world, { ...latest(world).sandbox, status });
}

function stored(world: World, sandbox: Sandbox): World | undefined {
  const version = versionOf(sandbox, world.versions.length);
  // A write that changes nothing makes no version.
  if (version.content === latest(world).content) return undefined;
  const paused = version.sealed === world.paused || !version.suspended ? 0 : world.paused;
  return { ...world, versions: [...world.versions, version], paused };
}

export const replaced = <T>(list: readonly T[], index: number, value: T): readonly T[] =>
  list.map((old, at) => (at === index ? value : old));

const codeOfLife = { absent: "a", down: "d", listening: "l", halfListed: "h", serving: "s" } as const;

function codeOfRequest(request: Request): string {
  switch (request.at) {
    case "client":
      return "c";
    case "end":
      return "e";
    case "hold":
      return `h${request.activator}`;
    case "tunnel":
      return `t${request.activator}${request.pod}${request.asked}${request.byte}${request.unanswered}${request.under}`;
    case "dialing":
    case "pod":
      return `${request.at[0]}${request.activator}${request.pod}`;
  }
}

function codeOfReply(reply: Reply | "unlisted" | undefined): string {
  if (reply === undefined) return "?";
  if (reply === "unlisted") return "u";
  if (reply.is === "silent") return `${reply.is}${reply.forMs}`;
  return reply.is === "answered" ? `${reply.inFlight}${reply.superseded ? "s" : ""}${reply.idleForMs ?? ""}` : reply.is;
}

const codeOfRound = (round: ModelRound | undefined): string =>
  round ? `${round.asked}${round.pod}.${round.generation}.${round.replies.map(codeOfReply).join("")}` : "";

/**
 * Controllers and requests are each other's equals, so their order says nothing. Versions count from the newest, so
 * that a sandbox that has come back to where it was is where it was.
 */
export function encode(world: World): string {
  const newest = world.versions.length - 1;
  let oldest = newest;
  const controllers = world.controllers.map(({ sees, seesPods, round }) => {
    if (sees < oldest) oldest = sees;
    return `|${newest - sees},${seesPods},${codeOfRound(round)}`;
  });
  let actors = controllers.sort().join("");
  for (const { life, deaf, saidReady, sees, seesPods, reportedGeneration, observed, fenced } of world.activators) {
    const views = life === "serving" || life === "halfListed";
    if (views && sees < oldest) oldest = sees;
    actors += `|${codeOfLife[life]}${saidReady ? 1 : 0}${deaf ? "x" : ""},${views ? newest - sees : ""},${seesPods},${reportedGeneration},${observed},${fenced}`;
  }
  let history = "";
  for (let index = oldest; index <= newest; index += 1) history += `${world.versions[index]?.content}.`;
  const { sleeps, pauses, resumes, edits, kills, deafness, strays, bytes } = world.left;
  const requests = world.requests.map(codeOfRequest).sort().join("");
  return `${history}${world.pods}${actors}|${requests}|${sleeps}${pauses}${resumes}${edits}${kills}${deafness}${strays}${bytes}|${world.paused}`;
}
