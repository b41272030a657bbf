import type { Container, PodSpec } from "../../api/kinds/core.ts";
import type { Condition, ObjectMeta, Stored } from "../../api/kinds/meta.ts";
import { apiVersionOf, type ResourceType } from "../../api/kinds/resource-type.ts";
import {
  type AutoResume,
  type AutoSuspension,
  type Hibernation,
  type SandboxSpec,
  type SuspensionStrategy,
  sandboxType,
} from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { tcpPorts } from "../../api/rules/declared-ports.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation, warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import { isSmallRequest } from "../../api/rules/probe-request.ts";
import { sealTextMax } from "../../api/rules/suspension.ts";
import { readTime } from "../../api/rules/timestamps.ts";
import { ownText } from "../../lib/data/own-text.ts";
import { slimMetadata } from "./slim-objects.ts";

type Identity = "name" | "namespace" | "uid" | "resourceVersion" | "generation";
type KeptMetadata = Identity | "creationTimestamp" | "deletionTimestamp" | "ownerReferences";
type KeptAnnotation = typeof sealedPodAnnotation | typeof suspensionCauseAnnotation;

/**
 * What the activator keeps of a Sandbox, which has up to 1.5 MiB. Each replica keeps every Sandbox of the cluster, so a field that
 * is not listed here cannot be read.
 */
export interface SlimSandbox {
  readonly metadata: Pick<ObjectMeta, KeptMetadata> & {
    readonly labels?: { readonly [warmPoolSandboxLabel]?: string };
    readonly annotations?: { readonly [key in KeptAnnotation]?: string };
  };
  readonly spec: Pick<SandboxSpec, "operatingMode" | "shutdownTime" | "autoSuspension" | "autoResume"> & {
    readonly podTemplate: { readonly spec: SlimTemplate };
    readonly suspensionStrategy?: Pick<SuspensionStrategy, "type">;
  };
  readonly status?: {
    readonly conditions?: readonly KeptCondition[];
    readonly hibernation?: { readonly lastWake?: LastWake };
  };
}

type LastWake = Pick<NonNullable<Hibernation["lastWake"]>, "mode" | "podUID">;

/**
 * The ports of its first container are the TCP ports that the Sandbox declares, or the fallback port. Only as many as are needed: a
 * Sandbox may declare tens of thousands.
 */
type SlimTemplate = Pick<PodSpec, "hostNetwork"> & { readonly containers: readonly Pick<Container, "ports">[] };
export type KeptCondition = Omit<Condition, "lastTransitionTime">;

/** The types of the conditions that are kept. */
const keptConditionTypes = ["Ready", "Suspended"] as const;
export type KeptConditionType = (typeof keptConditionTypes)[number];

/** Sandboxes as the activator reads them. */
export const slimSandboxType: ResourceType<SlimSandbox> = sandboxType;

/** The number of declared ports that can be reached by name. */
export const portsByNameMax = 32;

/** The longest text that is kept of a condition's message, in characters. Clients see less of it. */
const messageMax = 1_024;
/** The longest name of a port. */
const portNameMax = 63;
/** The longest UID and name of an owner. */
const ownerMax = 253;

/**
 * Returns what is kept of a version of a Sandbox. Whatever its owner writes, that has at most about 100 KB. It does not throw for
 * a Sandbox without a required field, which the API server has stored before it had the field: one error would hide all Sandboxes.
 */
export function slimSandbox({ metadata, spec, status }: Stored<SlimSandbox>): Stored<SlimSandbox> {
  const { operatingMode, autoSuspension, autoResume } = spec;
  const type = spec.suspensionStrategy?.type;
  const shutdownTime = canonicalTime(spec.shutdownTime);
  const kept = keptConditionTypes.map((type) => findCondition(status?.conditions, type));
  return {
    metadata: slimSandboxMetadata(metadata),
    spec: {
      podTemplate: { spec: slimTemplate(spec.podTemplate?.spec, autoResume?.allowFrom === "Any" ? portsByNameMax : 1) },
      ...(operatingMode && { operatingMode }),
      ...(shutdownTime && { shutdownTime }),
      ...(autoSuspension && { autoSuspension: slimAutoSuspension(autoSuspension) }),
      ...(autoResume && { autoResume: slimAutoResume(autoResume) }),
      ...(type === "Hibernate" && { suspensionStrategy: { type } }),
    },
    ...(status && {
      status: {
        conditions: kept.filter((condition) => condition !== undefined).map(slimCondition),
        ...(type === "Hibernate" && slimHibernation(status.hibernation)),
      },
    }),
  };
}

/** Only of a Pod that had asked for memory: it is named by its UID. */
function slimHibernation({ lastWake }: Hibernation = {}): Pick<NonNullable<SlimSandbox["status"]>, "hibernation"> {
  const { mode, podUID } = lastWake ?? {};
  if (mode === undefined || podUID === undefined || podUID.length > ownerMax) return {};
  return { hibernation: { lastWake: { mode, podUID } } };
}

function slimSandboxMetadata(metadata: Stored<SlimSandbox>["metadata"]): Stored<SlimSandbox>["metadata"] {
  const member = metadata.labels?.[warmPoolSandboxLabel];
  const seal = shortText(metadata.annotations?.[sealedPodAnnotation]);
  const cause = shortText(metadata.annotations?.[suspensionCauseAnnotation]);
  const claim = controllerOfKind({ metadata }, sandboxClaimType);
  const isNamed = claim && claim.uid.length <= ownerMax && claim.name.length <= ownerMax;
  return {
    ...slimMetadata(metadata),
    ...(member !== undefined && { labels: { [warmPoolSandboxLabel]: member } }),
    annotations: {
      ...(seal !== undefined && { [sealedPodAnnotation]: seal }),
      ...(cause !== undefined && { [suspensionCauseAnnotation]: cause }),
    },
    ...(isNamed && { ownerReferences: [{ ...claim, apiVersion: apiVersionOf(sandboxClaimType) }] }),
  };
}

/** Undefined for a text that is too long to mean anything: any user of the Sandbox may write these annotations. */
const shortText = (text: string | undefined): string | undefined =>
  text !== undefined && text.length <= sealTextMax ? text : undefined;

/** API servers accept times of any length, and lists in their place. */
const canonicalTime = (time: string | undefined): string | undefined => readTime(time)?.toISOString();

/** `portsMax`: one for the default port. */
function slimTemplate(spec: SlimTemplate | undefined, portsMax: number): SlimTemplate {
  const declared = tcpPorts({ ...spec, containers: spec?.containers ?? [] }).slice(0, portsMax);
  const ports = declared.map((containerPort) => ({ containerPort }));
  return { containers: [{ ports }], ...(spec?.hostNetwork && { hostNetwork: true }) };
}

function slimAutoSuspension(auto: AutoSuspension): AutoSuspension {
  const { inactivityTimeoutSeconds, drainTimeoutSeconds, unansweredLimitSeconds, openConnections } = auto;
  const keepAwakeUntil = canonicalTime(auto.keepAwakeUntil);
  const busyProbe = slimBusyProbe(auto.busyProbe);
  return {
    ...(inactivityTimeoutSeconds !== undefined && { inactivityTimeoutSeconds }),
    ...(drainTimeoutSeconds !== undefined && { drainTimeoutSeconds }),
    ...(unansweredLimitSeconds !== undefined && { unansweredLimitSeconds }),
    ...(openConnections && { openConnections }),
    ...(keepAwakeUntil && { keepAwakeUntil }),
    ...(busyProbe && { busyProbe }),
    ...(auto.ignoreRequests && { ignoreRequests: auto.ignoreRequests }),
  };
}

/** Absent for a probe that no program of ours sends. */
function slimBusyProbe(probe: AutoSuspension["busyProbe"]): AutoSuspension["busyProbe"] {
  if (!probe?.httpGet || !isSmallRequest(probe.httpGet)) return undefined;
  const { port, path, scheme, httpHeaders } = probe.httpGet;
  if (typeof port === "string" && port.length > portNameMax) return undefined;
  const isHttps = scheme?.toUpperCase() === "HTTPS";
  return {
    httpGet: { port, ...(path && { path }), ...(isHttps && { scheme: "HTTPS" }), ...(httpHeaders && { httpHeaders }) },
    ...(probe.limitSeconds !== undefined && { limitSeconds: probe.limitSeconds }),
  };
}

function slimAutoResume({ trigger, timeoutSeconds, readiness, allowFrom, waitPage }: AutoResume): AutoResume {
  return {
    ...(trigger && { trigger }),
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    ...(readiness && { readiness }),
    ...(allowFrom && { allowFrom }),
    ...(waitPage && { waitPage }),
  };
}

function slimCondition({ type, status, reason, message = "", observedGeneration }: KeptCondition): KeptCondition {
  return {
    ...{ type, status, reason },
    message: message.length > messageMax ? ownText(message.slice(0, messageMax)) : message,
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
}
