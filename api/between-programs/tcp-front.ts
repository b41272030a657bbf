// The mapping of activator ports to ports of a sandbox, for its in-cluster name, in an EndpointSlice. The slices are
// the only record of the allocation. The controller writes them, activators read them.
import { isPort } from "../../lib/net/is-port.ts";
import type { KubeObject, Stored } from "../kinds/meta.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import type { Sandbox, SandboxSpec } from "../kinds/sandbox.ts";
import { usesAutoFields } from "../rules/defaults.ts";
import { tcpFrontAnnotation } from "../rules/keys.ts";
import { createdMs, readTime } from "../rules/timestamps.ts";

/** With the fields that our programs read. */
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
/** The label that names the manager of a slice, so that no other controller changes it. */
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
/** Its value on our slices. */
export const tcpFrontManager = "tcp-front.rouse.agents.x-k8s.io";
/** The selector of our slices, for both programs' watches. */
export const tcpFrontSelector = `${managedByLabel}=${tcpFrontManager}`;

/** Activator ports, both ends included; below the range of outgoing ports. */
export const tcpFrontPorts = { first: 10_000, last: 31_999 } as const;

/**
 * The maximum number of activator ports that slices of one namespace can have, by any author: half of the range. A
 * user who may write slices must not take all ports from the other namespaces.
 */
export const tcpFrontPortsPerNamespaceMax = 11_000;

/** The default quarantine of a released port, in milliseconds. */
export const usualQuarantineMs = 600_000;

/** The content of a slice besides its ports, as JSON in `tcpFrontAnnotation`. */
export interface TcpFront {
  readonly sandboxName: string;
  readonly sandboxUid: string;
  readonly ports: readonly TcpFrontPort[];
  /** RFC 3339. Set when the ports are released; they are then in quarantine. */
  readonly freedAt?: string;
  /** Released ports of a sandbox that still uses others; they are in quarantine too. */
  readonly freedPorts?: readonly FreedPort[];
}

export interface FreedPort {
  readonly activatorPort: number;
  /** RFC 3339. */
  readonly freedAt: string;
}

export interface TcpFrontPort {
  /** The name of the Service's port, and of the slice's. */
  readonly name: string;
  /** The sandbox's port; the Service has the same number. */
  readonly containerPort: number;
  /** The activators' port for it. */
  readonly activatorPort: number;
}

const slicePrefix = "tcp-front-";

/** One slice for each Sandbox: named by its UID, so that a successor of the same name never shares it. */
export const tcpFrontSliceName = (sandboxUid: string): string => `${slicePrefix}${sandboxUid}`;

/** The inverse, for names of this form; for others a UID that matches no object. */
export const sandboxUidOf = (sliceName: string): string =>
  sliceName.startsWith(slicePrefix) ? sliceName.slice(slicePrefix.length) : "";

/** Whether a sandbox's Service points to the activators instead of to its Pod. */
export const usesTcpFront = (spec: Pick<SandboxSpec, "service" | "autoResume" | "autoSuspension">): boolean =>
  spec.service === true && usesAutoFields(spec);

export const formatTcpFront = (front: TcpFront): string => JSON.stringify(front);

/** A slice is read many times in each version, and is never modified. */
const known = new WeakMap<Pick<EndpointSlice, "metadata">, TcpFront | false>();

/**
 * The content of one of our slices; undefined if it cannot be parsed, or if the slice has not the name of its sandbox's slice.
 * Then it maps no port. Parsed once for each object.
 */
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
  if (metadata.name !== tcpFrontSliceName(sandboxUid)) return undefined;
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

/** Whether a front belongs to this sandbox, and is not released. */
export const standsFor = (front: TcpFront, { metadata: { name, uid } }: Sandbox): boolean =>
  front.freedAt === undefined && front.sandboxName === name && front.sandboxUid === uid;

/**
 * The activator ports that a slice mentions: in use, released, or, if its annotation cannot be parsed, listed, because
 * clients may still connect to them. Ports outside the range do not count, because a user who may write slices could name a
 * port of the node. A slice with a name that no controller gives names none.
 */
export function portsNamedBy(slice: EndpointSlice): ReadonlySet<number> {
  const front = tcpFrontOf(slice);
  const isNamedLikeOurs = slice.metadata.name?.startsWith(slicePrefix);
  const listed = isNamedLikeOurs ? (slice.ports ?? []).flatMap(({ port }) => port ?? []) : [];
  return new Set((front ? portsIn(front) : listed).filter(isActivatorPort));
}

/** All ports in a front, in use and released. */
export const portsIn = ({ ports, freedPorts = [] }: TcpFront): readonly number[] =>
  [...ports, ...freedPorts].map(({ activatorPort }) => activatorPort);

const isActivatorPort = (port: number): boolean => port >= tcpFrontPorts.first && port <= tcpFrontPorts.last;

/**
 * Sorts slices by age, the oldest first: of several slices with the same port the oldest counts. Slices of the same
 * second are sorted by UID.
 */
export function olderFirst(one: Stored<EndpointSlice>, other: Stored<EndpointSlice>): number {
  const difference = createdMs(one) - createdMs(other);
  if (difference !== 0) return difference;
  return one.metadata.uid < other.metadata.uid ? -1 : 1;
}

/** The addresses in a slice, in any condition. */
export const addressesListedBy = ({ endpoints }: EndpointSlice): readonly string[] =>
  (endpoints ?? []).flatMap(({ addresses }) => addresses);

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isTime = (value: unknown): value is string => isText(value) && readTime(value) !== undefined;

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
