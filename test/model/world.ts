// The state of the model: one sandbox in an API with consistent reads and lagging watches, its Pods, and all parties
// that act on them. Values are immutable, so that states share equal parts.
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { mayAskToRun, sealOf } from "../../api/rules/suspension.ts";
import type { Reply } from "../../controller/suspension/activators/activator-replies.ts";
import type { SandboxPatch } from "../../controller/suspension/handshake/patches.ts";
import { aSandbox } from "../support/builders/builders.ts";

export interface Limits {
  readonly requests: number;
  /** Connections to Pod 1 that are open from the start, and do not count by being open. */
  readonly tunnels: number;
  /** The number of bytes that may arrive on them. */
  readonly bytes: number;
  /** How often the sandbox may be suspended for inactivity. */
  readonly sleeps: number;
  /** How often it may be suspended manually. */
  readonly pauses: number;
  /** How often it may be resumed manually. */
  readonly resumes: number;
  /** How often another field of the sandbox may be edited. */
  readonly edits: number;
  /** How often a user may replace the whole sandbox by a running one without annotations. */
  readonly replacements: number;
  /** How often an activator may be killed; it may restart. */
  readonly kills: number;
  /** How many activators may stop answering the controller while they are Ready and keep forwarding. */
  readonly silences: number;
  /** How often a controller may create a Pod that the sandbox no longer needs, because its store lags. */
  readonly unneededPods: number;
  /** The number of activators at the start, and the number that may start later. */
  readonly activators: { readonly early: number; readonly late: number };
  /** The number of controllers, which all believe that they lead. */
  readonly controllers: number;
  /** Whether answers to calls may be lost. */
  readonly lossy: boolean;
  /** Whether the drain timeout of a manual suspension may expire. */
  readonly drainEnds: boolean;
  /**
   * How often what keeps memory may change its mind. Above 0, the sandbox would rather stay awake than lose its memory, and at first it
   * can be kept.
   */
  readonly refusals: number;
  /** Whether an agent can capture Pods. It may do each of its steps at any time, late or never. */
  readonly captures: boolean;
  /** How often what the sandbox runs may change, so that memory does not fit any more. */
  readonly runs: number;
  /**
   * How many Pods may be made with a gate. Above 0, a wake takes its steps one by one, and a controller may die at each of them. There is no
   * activator then, and a kill is the end of a Pod.
   */
  readonly wakes: number;
  /** Whether the API server may reject a Pod that goes on from memory, or its signature. Of use only with `wakes`. */
  readonly rejectsPods: boolean;
  /** Whether the API server may reject a seal, because the annotations of the sandbox are full. */
  readonly rejectsSeals: boolean;
}

/** A version of the sandbox, and the answers of the product's rules about it. */
export interface Version {
  readonly sandbox: Stored<Sandbox>;
  /** Equal for versions that differ only in their number. */
  readonly content: number;
  readonly generation: number;
  readonly suspended: boolean;
  /** The number of the sealed Pod; 0: none. */
  readonly sealed: number;
  readonly mayAskToRun: boolean;
}

/**
 * Pods exist one after the other, so one number is enough: odd while a Pod exists, even while none does.
 * The step to 1 creates Pod 1, the step to 2 deletes it, and the step to 3 creates Pod 2.
 */
export type PodEra = number;
export const podIn = (era: PodEra): number => (era % 2 === 1 ? (era + 1) / 2 : 0);
export const podUid = (pod: number): string => `pod-${pod}`;
export const podNumber = (uid: string): number => Number(uid.slice("pod-".length));

export interface Controller {
  /** The index of the version in its store. */
  readonly sees: number;
  readonly seesPods: PodEra;
  readonly round: ModelRound | undefined;
  /** Its store of images. */
  readonly seesImages: readonly Image[];
  /** One bit for each Pod that an activator has reported as fenced. */
  readonly heardFenced: number;
  /** The next Pod that it is making. It is decided on what its stores have shown, so they stay as they are meanwhile. */
  readonly waking: Waking | undefined;
}

/** How far a controller is with the next Pod. */
export interface Waking {
  readonly at: "giveUp" | "create" | "confirm" | "sign";
  /** The Pods whose images are still to be given up. */
  readonly unusable: readonly number[];
  /** The Pod whose memory it goes on from; 0: none. */
  readonly from: number;
  readonly run: number;
  /** 0: it is not there yet. */
  readonly pod: number;
}

/** The image of a Pod: what the API says, and what the node has done. */
export interface Image {
  /** What its Pod runs. */
  readonly run: number;
  /** Whether the controller has asked for the capture. */
  readonly asked: boolean;
  readonly agent: "idle" | "frozen" | "captured" | "failed";
  /** Whether it was captured when its Pod was being deleted: its memory may have a SIGTERM in it. */
  readonly late: boolean;
  readonly givenUp: boolean;
  /** The mark of the shim. */
  readonly used: boolean;
  /** Whether the API knows of its use. Then it is deleted. */
  readonly told: boolean;
}

export interface ModelRound {
  readonly asked: "observed" | "promise";
  readonly pod: number;
  readonly generation: number;
  /** By activator; undefined: not asked yet, `unlisted`: did not exist when the round began. */
  readonly replies: readonly (Reply | "unlisted" | undefined)[];
}

export interface Activator {
  /** `listening`: its drain listener is open; `halfListed`: it has the first of its two lists; `serving`: it has both. */
  readonly life: "absent" | "down" | "listening" | "halfListed" | "serving";
  /** It answers no calls, and keeps serving. */
  readonly silent: boolean;
  /** The status of its Pod in the API, which may be stale. */
  readonly saidReady: boolean;
  readonly sees: number;
  readonly seesPods: PodEra;
  readonly reportedGeneration: number;
  /** The generation of the last suspension that it was asked about and that still holds; kept if there are tunnels. */
  readonly observed: number;
  /** One bit for each Pod that it has fenced. */
  readonly fenced: number;
}

/** The state of a request. `dialing` counts as in flight, and no byte was sent. */
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
  /** The generation of the suspension for which its activator has reported the idle time; 0: none. */
  readonly asked: number;
  /** Whether a byte arrived since the last intent: `before` or `after` its activator was asked. */
  readonly byte: "none" | "before" | "after";
  /** Whether the sandbox has not answered the client's last data, and when that arrived, as in `byte`. */
  readonly unanswered: "no" | "before" | "after";
  /** Its activator's `observed` at that time; 0 if nothing is unanswered. */
  readonly under: number;
}

export interface World {
  readonly versions: readonly Version[];
  readonly pods: PodEra;
  readonly controllers: readonly Controller[];
  readonly activators: readonly Activator[];
  readonly requests: readonly Request[];
  readonly left: Pick<
    Limits,
    | "sleeps"
    | "pauses"
    | "resumes"
    | "edits"
    | "replacements"
    | "kills"
    | "silences"
    | "unneededPods"
    | "bytes"
    | "refusals"
    | "runs"
    | "wakes"
  >;
  /** The images of all Pods so far, the first is that of Pod 1. Empty if there is no agent. */
  readonly images: readonly Image[];
  /** Changes with what the sandbox runs. */
  readonly run: number;
  /** Whether its memory cannot be kept now. */
  readonly refuses: boolean;
  /** Whether the Pod waits for its signature. */
  readonly gated: boolean;
  /** The Pod whose memory the Pod asks for, until it is started; 0: none. */
  readonly asks: number;
  /** The last Pod that has been started. */
  readonly lived: number;
  /** The manually suspended Pod that is neither sealed nor gone since; 0: none. */
  readonly paused: number;
}

export const latest = ({ versions }: World): Version => versionAt(versions, versions.length - 1);

export function versionAt(versions: readonly Version[], index: number): Version {
  const version = versions[index];
  if (!version) throw new Error(`there is no version ${index}`);
  return version;
}

/** A character of a state's code has to hold it. */
const largestNumber = 0xffff;
const contents = new Map<string, number>();
const interned = new Map<string, Version>();

/** The version with this number. Equal versions are one object, so that the rules are computed once for each. */
function versionOf(sandbox: Sandbox, index: number): Version {
  const { generation = 0, annotations } = sandbox.metadata;
  const { operatingMode, suspensionStrategy } = sandbox.spec;
  const code = JSON.stringify([operatingMode, suspensionStrategy, generation, annotations, sandbox.status]);
  const content = contents.get(code) ?? contents.size;
  if (content > largestNumber) throw new Error(`there are more than ${largestNumber} contents of a version`);
  contents.set(code, content);
  const key = `${content}/${index}`;
  const known = interned.get(key);
  if (known) return known;
  const stored = { ...aSandbox(), ...sandbox, metadata: { ...aSandbox().metadata, ...sandbox.metadata } };
  const version: Version = {
    sandbox: { ...stored, metadata: { ...stored.metadata, resourceVersion: String(index) } },
    content,
    generation,
    suspended: operatingMode === "Suspended",
    sealed: podNumber(sealOf(sandbox)?.podUid ?? podUid(0)),
    mayAskToRun: mayAskToRun(sandbox),
  };
  interned.set(key, version);
  return version;
}

export function firstVersion({ refusals }: Pick<Limits, "refusals">): Version {
  const stays = { suspensionStrategy: { type: "Hibernate", onFailure: "StayAwake" } } as const;
  const spec = { operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 60 } } as const;
  return versionOf(aSandbox({ ...spec, ...(refusals > 0 && stays) }), 0);
}

/** The API server accepts a merge patch; undefined: a conflict. */
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

/** The API server accepts an edit of another field than the mode, which increases the generation. */
export function edited(world: World): World | undefined {
  const { sandbox } = latest(world);
  const { generation = 0 } = sandbox.metadata;
  return stored(world, { ...sandbox, metadata: { ...sandbox.metadata, generation: generation + 1 } });
}

/** The API server accepts a manifest that replaces the whole sandbox, except its status. */
export function manifestWritten(world: World): World | undefined {
  const { sandbox } = latest(world);
  const generation = (sandbox.metadata.generation ?? 0) + (sandbox.spec.operatingMode === "Running" ? 0 : 1);
  const metadata = { ...sandbox.metadata, annotations: {}, generation };
  return stored(world, { ...sandbox, metadata, spec: { ...sandbox.spec, operatingMode: "Running" } });
}

/** The API server accepts a status, without a condition. */
export function withStatus(world: World, status: Sandbox["status"] & object): World | undefined {
  const before = latest(world);
  const known = withStatuses.get(status)?.get(before);
  if (known) return accepted(world, known);
  const version = versionOf({ ...before.sandbox, status }, world.versions.length);
  withStatuses.set(status, (withStatuses.get(status) ?? new Map<Version, Version>()).set(before, version));
  return accepted(world, version);
}

/** By status and the version before. Most writes of a status change nothing, and each way to a state repeats them. */
const withStatuses = new Map<object, Map<Version, Version>>();

const stored = (world: World, sandbox: Sandbox): World | undefined =>
  accepted(world, versionOf(sandbox, world.versions.length));

function accepted(world: World, version: Version): World | undefined {
  // A write without a change creates no version.
  if (version.content === latest(world).content) return undefined;
  const paused = version.sealed === world.paused || !version.suspended ? 0 : world.paused;
  return { ...world, versions: [...world.versions, version], paused };
}

export const replaced = <T>(list: readonly T[], index: number, value: T): readonly T[] =>
  list.map((old, at) => (at === index ? value : old));

export const withController = (world: World, index: number, change: Partial<Controller>): World => {
  const controller = world.controllers[index];
  if (!controller) throw new Error(`there is no controller ${index}`);
  return { ...world, controllers: replaced(world.controllers, index, { ...controller, ...change }) };
};
