import type { Pod } from "../../api/core.ts";
import { effectiveAutoResume } from "../../api/defaults.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { type Bonds, mayAskToRun, mayForward } from "../../api/suspension.ts";
import { ActivatorError, type ErrorCode } from "../errors.ts";
import { firstPortOf, type Routed } from "../find/find.ts";
import { canonicalIp, isDiallable } from "../find/ip-address.ts";
import { keepLook, knownLook } from "./known-looks.ts";
import { type OwnProbe, readinessOf } from "./readiness.ts";
import {
  currentCondition,
  type TroubleOptions,
  troubleOfPod,
  troubleOfSandbox,
  unschedulableSince,
} from "./trouble.ts";

/** Everything that is known when a request asks for a sandbox. */
export interface Question extends TroubleOptions {
  readonly routed: Pick<Routed, "namespace" | "name" | "port"> & Partial<Pick<Routed, "podIp" | "byHost">>;
  readonly sandbox: Stored<Sandbox> | undefined;
  /** The Pod that the sandbox's UID owns. */
  readonly pod: Stored<Pod> | undefined;
  /** UID of the sandbox when the request first asked. */
  readonly firstUid: string | undefined;
  readonly allowLoopbackPodIp: boolean;
  readonly bonds: Bonds;
  /** Whether its owner said that such requests wake nothing. */
  readonly ignored: boolean;
}

/** Where a sandbox answers, if it does. */
export interface Target {
  readonly podUid: string;
  readonly ip: string;
  readonly port: number;
  readonly probes: readonly OwnProbe[];
  /** Whether the Pod is young enough that its port may still open. */
  readonly young: boolean;
}

export type Look =
  | { readonly is: "refused"; readonly error: ActivatorError }
  | { readonly is: "asleep"; readonly sandbox: Stored<Sandbox> }
  /** Something else must happen first; `recheckAfterMs` where time alone changes the answer. */
  | { readonly is: "pending"; readonly on: string; readonly recheckAfterMs?: number }
  /** With `trouble`, only a port that accepts now disproves it. */
  | { readonly is: "addressed"; readonly target: Target; readonly trouble: ActivatorError | undefined };

const poolLabel = "agents.x-k8s.io/warm-pool-sandbox";

/** What a request to a sandbox has to do next. Pure: asked again whenever the cluster changes. */
export function look(question: Question): Look {
  return knownLook(question) ?? lookAnew(question);
}

function lookAnew(question: Question): Look {
  const { sandbox, routed } = question;
  const code = refusalOf(question);
  if (code !== undefined) return refused(new ActivatorError(code, { subject: routed.name }));
  if (!sandbox) return refused(notFound(routed));
  return sandbox.spec.operatingMode === "Suspended" ? lookAtSuspended(sandbox, question) : lookAtRunning(question);
}

const refused = (error: ActivatorError): Look => ({ is: "refused", error });

/** A host name that leads nowhere is a 404; the ecosystem's clients, who name it by headers, expect a 502. */
const notFound = ({ byHost, name }: Question["routed"]) =>
  new ActivatorError(byHost ? "UnknownHost" : "SandboxNotFound", { subject: name });

type Check = (question: Question) => ErrorCode | undefined;

/** What must not be reached at all, whatever its state. The first one is what the client is told. */
const checks: readonly Check[] = [
  ({ sandbox, firstUid }) => (firstUid !== undefined && !sandbox ? "SandboxDeleted" : undefined),
  ({ sandbox, firstUid }) =>
    firstUid !== undefined && sandbox?.metadata.uid !== firstUid ? "SandboxReplaced" : undefined,
  ({ sandbox }) => (sandbox?.metadata.deletionTimestamp ? "SandboxDeleted" : undefined),
  ({ sandbox }) => (sandbox?.metadata.labels?.[poolLabel] ? "Unclaimed" : undefined),
  ({ sandbox, now }) => (sandbox && isExpired(sandbox, now) ? "SandboxExpired" : undefined),
];

function refusalOf(question: Question): ErrorCode | undefined {
  for (const check of checks) {
    const code = check(question);
    if (code) return code;
  }
  return undefined;
}

function isExpired(sandbox: Sandbox, now: Date): boolean {
  const { shutdownTime } = sandbox.spec;
  if (shutdownTime && new Date(shutdownTime) <= now) return true;
  return currentCondition(sandbox, "Ready")?.reason === "SandboxExpired";
}

function lookAtSuspended(sandbox: Stored<Sandbox>, { routed, ignored }: Question): Look {
  if (ignored || effectiveAutoResume(sandbox.spec).trigger === "Never") {
    return refused(new ActivatorError("WakeNotAllowed", { subject: routed.name }));
  }
  return mayAskToRun(sandbox) ? { is: "asleep", sandbox } : { is: "pending", on: "its suspension to end" };
}

function lookAtRunning(question: Question): Look {
  const { sandbox, pod, routed, now } = question;
  const subject = routed.name;
  const stuck = sandbox && troubleOfSandbox(sandbox, subject);
  if (!pod) return stuck ? refused(stuck) : { is: "pending", on: "its Pod to be created" };
  if (pod.metadata.deletionTimestamp) return { is: "pending", on: "its former Pod to end" };
  if (sandbox && !mayForward(sandbox, pod.metadata.uid, question.bonds)) {
    return { is: "pending", on: "its suspension to be carried out or called off" };
  }
  const trouble = troubleOfPod(pod, subject, question);
  if (trouble?.code === "PodEnded") return refused(trouble);
  if (!pod.status?.podIP && (pod.status?.podIPs ?? []).length === 0) {
    return trouble ? refused(trouble) : withoutAddress(pod, question.unschedulableGraceMs, now);
  }
  return lookAtAddress(question, pod, trouble);
}

function withoutAddress(pod: Pod, graceMs: number | undefined, now: Date): Look {
  const since = unschedulableSince(pod);
  if (since === undefined) return { is: "pending", on: "its Pod to start" };
  const on = "a node with room for it";
  if (graceMs === undefined) return { is: "pending", on };
  return { is: "pending", on, recheckAfterMs: Math.max(since.getTime() + graceMs - now.getTime(), 1) };
}

function lookAtAddress(question: Question, pod: Stored<Pod>, trouble: ActivatorError | undefined): Look {
  const { sandbox, routed, now } = question;
  const subject = routed.name;
  const autoResume = effectiveAutoResume(sandbox?.spec ?? {});
  const readiness = readinessOf(pod, autoResume.readiness);
  if (readiness.is === "podReady") return trouble ? refused(trouble) : { is: "pending", on: "its Pod to be ready" };
  const firstPort = sandbox ? firstPortOf(sandbox) : 0;
  const port = routed.port ?? firstPort;
  if (pod.spec?.hostNetwork && !declares(pod, port)) return refused(new ActivatorError("PortNotDeclared", { subject }));
  const ip = addressOf(pod, routed.podIp);
  if (ip === undefined || !isDiallable(ip, question.allowLoopbackPodIp)) {
    return refused(new ActivatorError("BadAddress", { subject }));
  }
  const { probes } = readiness;
  const youngUntilMs = startedMs(pod) + autoResume.timeoutSeconds * 1000;
  if (!trouble) keepLook(question, { ip, firstPort, probes, youngUntilMs });
  const target = { podUid: pod.metadata.uid, ip, port, probes, young: now.getTime() < youngUntilMs };
  return { is: "addressed", target, trouble };
}

/** The Pod's own address; of several, the one that the client asked for, if it is one of them. */
function addressOf(pod: Pod, asked: string | undefined): string | undefined {
  const { podIP, podIPs = [] } = pod.status ?? {};
  if (asked !== undefined && asked !== podIP) {
    const own = podIPs.map(({ ip }) => canonicalIp(ip)).find((ip) => ip === asked);
    if (own !== undefined) return own;
  }
  const first = podIP || podIPs.find(({ ip }) => ip)?.ip;
  return first === undefined ? undefined : canonicalIp(first);
}

const startedMs = (pod: Stored<Pod>) => Date.parse(pod.status?.startTime ?? pod.metadata.creationTimestamp);

const declares = (pod: Pod, port: number) =>
  (pod.spec?.containers ?? []).some(({ ports }) => ports?.some(({ containerPort }) => containerPort === port));
