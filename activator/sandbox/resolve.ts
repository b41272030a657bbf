import type { Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { defaultPort } from "../../api/rules/declared-ports.ts";
import { effectiveAutoResume } from "../../api/rules/defaults.ts";
import { warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { type Fences, mayAskToRun, mayForward } from "../../api/rules/suspension.ts";
import { readTime } from "../../api/rules/timestamps.ts";
import {
  currentCondition,
  type FailureOptions,
  failureOfPod,
  failureOfSandbox,
  isUnschedulable,
  unschedulableLeftMs,
} from "../failures/detect-failures.ts";
import { ActivatorError, type ErrorCode } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import { canonicalIp, isDiallable } from "../find/ip-address.ts";
import type { Place } from "../pod-connections/place.ts";
import { type OwnProbe, readinessOf } from "../readiness/readiness.ts";
import { hasAddress } from "./pod-sights.ts";
import { cachedResolution, cacheResolution, soonestMs } from "./resolution-cache.ts";
import type { SlimSandbox } from "./slim-sandbox.ts";

const never = Number.POSITIVE_INFINITY;

/** The input of a resolution. */
export interface Question extends FailureOptions {
  /** Wall time. */
  readonly now: Date;
  readonly routed: Pick<Routed, "namespace" | "name" | "port"> & Partial<Pick<Routed, "podIp" | "byHost" | "byUid">>;
  readonly sandbox: Stored<SlimSandbox> | undefined;
  /** The Pod that the sandbox controls, by UID. */
  readonly pod: Stored<Pod> | undefined;
  /** The UID of the sandbox when the request was first resolved. */
  readonly firstUid: string | undefined;
  readonly allowLoopbackPodIp: boolean;
  readonly fences: Fences;
  /** Whether `ignoreRequests` matches the request, so that it must not wake the sandbox. */
  readonly ignored: boolean;
  /** How long this view of the cluster stays valid if the API server is silent from now on. Milliseconds. */
  readonly validForMs: number;
}

/** Where a sandbox can be reached. */
export interface Target extends Place {
  readonly probes: readonly OwnProbe[];
  /** Whether the Pod is young enough that its port may still open. */
  readonly young: boolean;
}

interface Timed {
  /** The milliseconds until time alone may change the resolution. It is finite, because a silent API server ends each view. */
  readonly recheckAfterMs: number;
}

export interface Asleep extends Timed {
  readonly is: "asleep";
  readonly sandbox: Stored<SlimSandbox>;
}

/** Something else must happen first. */
export interface Pending extends Timed {
  readonly is: "pending";
  readonly on: string;
  /** The error of the last attempt; the controller retries within half a minute. */
  readonly stuck?: ActivatorError;
}

export interface Addressed extends Timed {
  readonly is: "addressed";
  readonly target: Target;
  /** Only a port that accepts now disproves it. */
  readonly failure: ActivatorError | undefined;
}

interface Refused {
  readonly is: "refused";
  readonly error: ActivatorError;
}

/** A resolution that a request may wait for. */
export type Seen = Asleep | Pending | Addressed;

export type Resolution = Refused | Seen;

/** What is seen at this moment, without the time until it may change. */
type Now = Refused | Omit<Asleep, keyof Timed> | Omit<Pending, keyof Timed> | Omit<Addressed, keyof Timed>;

/** Resolves a request to a sandbox: what must happen next. Pure. Called again after each change of the cluster. */
export function resolveSandbox(question: Question): Resolution {
  return cachedResolution(question) ?? resolveUncached(question);
}

function resolveUncached(question: Question): Resolution {
  const seen = resolveAt(question);
  return seen.is === "refused" ? seen : { ...seen, recheckAfterMs: recheckAfterMs(question) };
}

/** Every time that a resolution reads is here, except for a refusal: that one ends the wait. */
function recheckAfterMs(question: Question): number {
  const { sandbox, pod, now, nowMs, validForMs } = question;
  const leftMs = [
    sandbox ? endsMs(sandbox) - now.getTime() : never,
    pod && hasAddress(pod) ? youngUntilMs(pod, question) - nowMs : never,
    (pod && unschedulableLeftMs(pod, question)) ?? never,
  ];
  return soonestMs(validForMs, ...leftMs.filter((ms) => ms > 0));
}

function resolveAt(question: Question): Now {
  const { sandbox, routed } = question;
  const code = refusalOf(question);
  if (code !== undefined) return refused(new ActivatorError(code, { subject: routed.name }));
  if (!sandbox) return refused(notFound(routed));
  return sandbox.spec.operatingMode === "Suspended" ? resolveSuspended(sandbox, question) : resolveRunning(question);
}

const refused = (error: ActivatorError): Refused => ({ is: "refused", error });

/** An unknown host name is a 404. Clients of the ecosystem, who name the sandbox in headers, expect a 502. */
const notFound = ({ byHost, name }: Question["routed"]) =>
  new ActivatorError(byHost ? "UnknownHost" : "SandboxNotFound", { subject: name });

/** Who asks for which sandbox, and when. */
interface Asked extends Pick<Question, "sandbox" | "firstUid" | "now"> {
  readonly routed: Pick<Question["routed"], "byUid">;
}
type Check = (asked: Asked) => ErrorCode | undefined;

/** Reasons that forbid to reach a sandbox in any state. The client gets the first one. */
const checks: readonly Check[] = [
  ({ sandbox, firstUid }) => (firstUid !== undefined && !sandbox ? "SandboxDeleted" : undefined),
  ({ sandbox, firstUid }) =>
    firstUid !== undefined && sandbox?.metadata.uid !== firstUid ? "SandboxReplaced" : undefined,
  ({ sandbox }) => (sandbox?.metadata.deletionTimestamp ? "SandboxDeleted" : undefined),
  ({ sandbox, routed }) =>
    sandbox && isUnclaimed(sandbox) && !mayReachMember(sandbox, routed) ? "Unclaimed" : undefined,
  ({ sandbox, now }) => (sandbox && isExpired(sandbox, now) ? "SandboxExpired" : undefined),
];

const isUnclaimed = ({ metadata }: SlimSandbox) => (metadata.labels?.[warmPoolSandboxLabel] ?? "") !== "";

/** A member of a warm pool that runs is reached by who knows its UID, but never woken. */
const mayReachMember = ({ spec }: SlimSandbox, { byUid = false }: Asked["routed"]) =>
  byUid && spec.operatingMode !== "Suspended";

/** Why the sandbox may not be reached, in whatever state it is. */
export function refusalOf(asked: Asked): ErrorCode | undefined {
  for (const check of checks) {
    const code = check(asked);
    if (code) return code;
  }
  return undefined;
}

function isExpired(sandbox: SlimSandbox, now: Date): boolean {
  if (endsMs(sandbox) <= now.getTime()) return true;
  return currentCondition(sandbox, "Ready")?.reason === "SandboxExpired";
}

/** The wall time of `shutdownTime` in milliseconds. */
function endsMs({ spec: { shutdownTime } }: SlimSandbox): number {
  const end = shutdownTime ? readTime(shutdownTime) : undefined;
  return end ? end.getTime() : never;
}

function resolveSuspended(sandbox: Stored<SlimSandbox>, { routed, ignored }: Question): Now {
  if (ignored || effectiveAutoResume(sandbox.spec).trigger === "Never") {
    return refused(new ActivatorError("WakeNotAllowed", { subject: routed.name }));
  }
  return mayAskToRun(sandbox) ? { is: "asleep", sandbox } : { is: "pending", on: "its suspension to end" };
}

function resolveRunning(question: Question): Now {
  const { sandbox, pod, routed } = question;
  const subject = routed.name;
  const stuck = sandbox && failureOfSandbox(sandbox, subject);
  if (!pod) {
    if (stuck?.code === "QuotaExceeded") return { is: "pending", on: "room in its quota", stuck };
    return stuck ? refused(stuck) : { is: "pending", on: "its Pod to be created" };
  }
  if (pod.metadata.deletionTimestamp) return { is: "pending", on: "its former Pod to end" };
  if (sandbox && !mayForward(sandbox, pod.metadata.uid, question.fences)) {
    return { is: "pending", on: "its suspension to complete or to be cancelled" };
  }
  const failure = failureOfPod(pod, subject, question);
  if (failure?.endsAtOnce) return refused(failure.error);
  if (hasAddress(pod)) return resolveAddress(question, pod, failure?.error);
  if (failure) return refused(failure.error);
  return { is: "pending", on: isUnschedulable(pod) ? "a node that can run it" : "its Pod to start" };
}

function resolveAddress(question: Question, pod: Stored<Pod>, failure: ActivatorError | undefined): Now {
  const { sandbox, routed, nowMs } = question;
  const subject = routed.name;
  const autoResume = effectiveAutoResume(sandbox?.spec ?? {});
  const readiness = readinessOf(pod, autoResume.readiness);
  if (readiness.is === "podReady") return failure ? refused(failure) : { is: "pending", on: "its Pod to be ready" };
  const firstPort = sandbox ? defaultPort(sandbox.spec.podTemplate.spec) : 0;
  const port = routed.port ?? firstPort;
  if (pod.spec?.hostNetwork && !declares(pod, port)) return refused(new ActivatorError("PortNotDeclared", { subject }));
  const ip = addressOf(pod, routed.podIp);
  if (ip === undefined || !isDiallable(ip, question.allowLoopbackPodIp)) {
    return refused(new ActivatorError("BadAddress", { subject }));
  }
  const { probes } = readiness;
  const untilMs = youngUntilMs(pod, question);
  const ends = sandbox ? endsMs(sandbox) : never;
  if (!failure) cacheResolution(question, { ip, firstPort, probes, youngUntilMs: untilMs, endsMs: ends });
  const young = nowMs < untilMs;
  const target = { namespace: routed.namespace, podUid: pod.metadata.uid, ip, port, probes, young };
  return { is: "addressed", target, failure };
}

/** When the Pod stops to be young, in monotonic milliseconds. */
function youngUntilMs(pod: Stored<Pod>, { sandbox, sightings, nowMs }: Question): number {
  const addressedMs = sightings.sightsOf(pod.metadata.uid)?.addressedMs ?? nowMs;
  return addressedMs + effectiveAutoResume(sandbox?.spec ?? {}).timeoutSeconds * 1000;
}

/** The Pod's own address; of several, the requested address if it is among them. */
function addressOf(pod: Pod, asked: string | undefined): string | undefined {
  const { podIP, podIPs = [] } = pod.status ?? {};
  if (asked !== undefined && asked !== podIP) {
    const own = podIPs.map(({ ip }) => canonicalIp(ip)).find((ip) => ip === asked);
    if (own !== undefined) return own;
  }
  const first = podIP || podIPs.find(({ ip }) => ip)?.ip;
  return first === undefined ? undefined : canonicalIp(first);
}

const declares = (pod: Pod, port: number) =>
  (pod.spec?.containers ?? []).some(({ ports }) => ports?.some(({ containerPort }) => containerPort === port));
