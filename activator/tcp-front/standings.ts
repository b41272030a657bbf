import type { Stored } from "../../api/meta.ts";
import { type EndpointSlice, type TcpFront, tcpFrontOf, tcpFrontPorts } from "../../api/tcp-front.ts";

/** What a port of the activators stands for. */
export interface Standing {
  readonly activatorPort: number;
  readonly namespace: string;
  readonly sandboxName: string;
  readonly sandboxUid: string;
  /** Where the sandbox listens. */
  readonly containerPort: number;
}

/**
 * The activator ports about which a slice says something, for whoever looks up who names a port: in use, freed, or, where its
 * annotation cannot be read, listed, for somebody may be led there.
 */
export function portsNamedBy(slice: Stored<EndpointSlice>): readonly number[] {
  const front = frontOf(slice);
  const ports = front
    ? [...front.ports, ...(front.freedPorts ?? [])].map(({ activatorPort }) => activatorPort)
    : (slice.ports ?? []).flatMap(({ port }) => port ?? []);
  return [...new Set(ports)].filter(isOurs);
}

/**
 * What a port stands for, of all slices that name it; undefined: nothing, and nobody listens there. Of several the oldest
 * counts, by creation and then by UID. One that has freed it counts as well, and stands for nothing: a client may still hold
 * an address that once led to its sandbox.
 */
export function standingOf(activatorPort: number, naming: readonly Stored<EndpointSlice>[]): Standing | undefined {
  const [slice] = [...naming].sort(byAge);
  const front = slice && frontOf(slice);
  if (!front || front.freedAt !== undefined) return undefined;
  const port = front.ports.find((each) => each.activatorPort === activatorPort);
  if (!port) return undefined;
  const { sandboxName, sandboxUid } = front;
  const { namespace = "" } = slice.metadata;
  return { activatorPort, namespace, sandboxName, sandboxUid, containerPort: port.containerPort };
}

export const isSameStanding = (one: Standing | undefined, other: Standing | undefined): boolean =>
  one?.activatorPort === other?.activatorPort &&
  one?.namespace === other?.namespace &&
  one?.sandboxName === other?.sandboxName &&
  one?.sandboxUid === other?.sandboxUid &&
  one?.containerPort === other?.containerPort;

/** Addresses that a slice lists, of whatever condition. */
export const addressesListedBy = ({ endpoints }: EndpointSlice): readonly string[] =>
  (endpoints ?? []).flatMap(({ addresses }) => addresses);

// Whoever may write slices could else make us listen where something of the node or of ours does.
const isOurs = (port: number) => port >= tcpFrontPorts.first && port <= tcpFrontPorts.last;

function byAge({ metadata: one }: Stored<EndpointSlice>, { metadata: other }: Stored<EndpointSlice>): number {
  const difference = Date.parse(one.creationTimestamp) - Date.parse(other.creationTimestamp);
  if (difference !== 0) return difference;
  return one.uid < other.uid ? -1 : 1;
}

/** Read once for each state of a slice: it is asked for on every change of a neighbour. */
const fronts = new WeakMap<Stored<EndpointSlice>, TcpFront | false>();

function frontOf(slice: Stored<EndpointSlice>): TcpFront | undefined {
  const known = fronts.get(slice) ?? tcpFrontOf(slice) ?? false;
  fronts.set(slice, known);
  return known || undefined;
}
