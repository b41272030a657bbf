// How a sandbox is reached by its in-cluster name, written down in an EndpointSlice: which port of the activators stands for
// which port of the sandbox. The slices are the only record of that allocation. The controller writes them, activators read.
import { usesAutoFields } from "./defaults.ts";
import { tcpFrontAnnotation } from "./keys.ts";
import type { KubeObject, Stored } from "./meta.ts";
import type { ResourceType } from "./resource-type.ts";
import type { Sandbox, SandboxSpec } from "./sandbox.ts";

/** As far as the programs here look into it. */
export interface EndpointSlice extends KubeObject {
  readonly addressType: "IPv4" | "IPv6" | "FQDN";
  readonly endpoints?: readonly Endpoint[] | null;
  readonly ports?: readonly EndpointPort[] | null;
}

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  readonly targetRef?: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
}

export interface EndpointPort {
  readonly name?: string;
  readonly port?: number;
  readonly protocol?: string;
}

export const endpointSliceType: ResourceType<EndpointSlice> = {
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
};

/** The label by which a proxy finds the slices of a Service; `kubernetes.io/service-name` of discovery.k8s.io. */
export const serviceNameLabel = "kubernetes.io/service-name";
/** The label that says who keeps a slice, so that no other controller touches it. */
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
/** Its value on ours. */
export const tcpFrontManager = "tcp-front.rouse.agents.x-k8s.io";
/** The selector by which both programs watch them. */
export const tcpFrontSelector = `${managedByLabel}=${tcpFrontManager}`;

/** Ports of activators that may stand for a port of a sandbox, both ends included; below the range of outgoing ports. */
export const tcpFrontPorts = { first: 10_000, last: 31_999 } as const;

/** How many milliseconds a port rests that nobody uses any more, unless the controller is told otherwise. */
export const usualQuarantineMs = 600_000;

/** What a slice says besides its ports: whose they are. JSON in `tcpFrontAnnotation`. */
export interface TcpFront {
  readonly sandboxName: string;
  readonly sandboxUid: string;
  readonly ports: readonly TcpFrontPort[];
  /** RFC 3339. Set when nobody may use the ports any more; they are given to nobody else for a while. */
  readonly freedAt?: string;
  /** Ports that stood for a port of the sandbox, and stand for nothing; they too are given to nobody else for a while. */
  readonly freedPorts?: readonly FreedPort[];
}

export interface FreedPort {
  readonly activatorPort: number;
  /** RFC 3339. */
  readonly freedAt: string;
}

export interface TcpFrontPort {
  /** Of the Service's port, and of the slice's. */
  readonly name: string;
  /** Where the sandbox listens; the Service has the same number. */
  readonly containerPort: number;
  /** Where the activators listen for it. */
  readonly activatorPort: number;
}

const slicePrefix = "tcp-front-";

/** One slice for each Sandbox: by its UID, so that the next of its name never shares one with its predecessor. */
export const tcpFrontSliceName = (sandboxUid: string): string => `${slicePrefix}${sandboxUid}`;

/** The inverse, for names that were made like this; nobody's UID for others. */
export const sandboxUidOf = (sliceName: string): string =>
  sliceName.startsWith(slicePrefix) ? sliceName.slice(slicePrefix.length) : "";

/** Whether a sandbox's Service leads to the activators instead of to its Pod. */
export const usesTcpFront = (spec: Pick<SandboxSpec, "service" | "autoResume" | "autoSuspension">): boolean =>
  spec.service === true && usesAutoFields(spec);

export const formatTcpFront = (front: TcpFront): string => JSON.stringify(front);

/** A slice is looked at many times in each of its states, and is not changed in between. */
const known = new WeakMap<Pick<EndpointSlice, "metadata">, TcpFront | false>();

/** What a slice of ours says; undefined for one that cannot be read, which stands for nothing. Read once for each object. */
export function tcpFrontOf(slice: Pick<EndpointSlice, "metadata">): TcpFront | undefined {
  const front = known.get(slice) ?? readFront(slice) ?? false;
  known.set(slice, front);
  return front || undefined;
}

function readFront({ metadata }: Pick<EndpointSlice, "metadata">): TcpFront | undefined {
  const written = metadata.annotations?.[tcpFrontAnnotation];
  if (written === undefined) return undefined;
  let value: Partial<Record<keyof TcpFront, unknown>> | null;
  try {
    value = JSON.parse(written);
  } catch {
    return undefined;
  }
  const { sandboxName, sandboxUid, ports, freedAt, freedPorts = [] } = value ?? {};
  if (!isText(sandboxName) || !isText(sandboxUid) || !Array.isArray(ports) || !ports.every(isTcpFrontPort))
    return undefined;
  if (freedAt !== undefined && !isTime(freedAt)) return undefined;
  if (!Array.isArray(freedPorts) || !freedPorts.every(isFreedPort)) return undefined;
  return {
    sandboxName,
    sandboxUid,
    ports,
    ...(freedAt !== undefined && { freedAt }),
    ...(freedPorts.length > 0 && { freedPorts }),
  };
}

/** Whether a front stands for this very sandbox, and still does. */
export const standsFor = (front: TcpFront, { metadata: { name, uid } }: Sandbox): boolean =>
  front.freedAt === undefined && front.sandboxName === name && front.sandboxUid === uid;

/**
 * The activator ports about which a slice says something: in use, freed, or, where its annotation cannot be read, listed, for
 * somebody may be led there.
 */
export function portsNamedBy(slice: EndpointSlice): ReadonlySet<number> {
  const front = tcpFrontOf(slice);
  if (!front) return new Set((slice.ports ?? []).flatMap(({ port }) => port ?? []));
  return new Set([...front.ports, ...(front.freedPorts ?? [])].map(({ activatorPort }) => activatorPort));
}

/** Sorts slices by age, the oldest first: of several that name one port that one counts. Made in one second, by UID. */
export function olderFirst(
  { metadata: one }: Stored<EndpointSlice>,
  { metadata: other }: Stored<EndpointSlice>,
): number {
  const difference = Date.parse(one.creationTimestamp) - Date.parse(other.creationTimestamp);
  if (difference !== 0) return difference;
  return one.uid < other.uid ? -1 : 1;
}

/** Addresses that a slice lists, of whatever condition. */
export const addressesListedBy = ({ endpoints }: EndpointSlice): readonly string[] =>
  (endpoints ?? []).flatMap(({ addresses }) => addresses);

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;

const isTime = (value: unknown): value is string => isText(value) && !Number.isNaN(Date.parse(value));

function isFreedPort(value: unknown): value is FreedPort {
  if (typeof value !== "object" || value === null) return false;
  const { activatorPort, freedAt } = value as Partial<Record<keyof FreedPort, unknown>>;
  return isPort(activatorPort) && isTime(freedAt);
}

function isTcpFrontPort(value: unknown): value is TcpFrontPort {
  if (typeof value !== "object" || value === null) return false;
  const { name, containerPort, activatorPort } = value as Partial<Record<keyof TcpFrontPort, unknown>>;
  return typeof name === "string" && isPort(containerPort) && isPort(activatorPort);
}
