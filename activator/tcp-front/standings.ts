import type { Stored } from "../../api/meta.ts";
import { type EndpointSlice, olderFirst, portsNamedBy, tcpFrontOf, tcpFrontPorts } from "../../api/tcp-front.ts";

/** What a port of the activators stands for. */
export interface Standing {
  readonly activatorPort: number;
  readonly namespace: string;
  readonly sandboxName: string;
  readonly sandboxUid: string;
  /** Where the sandbox listens. */
  readonly containerPort: number;
}

/** The ports of ours about which a slice says something: whoever may write slices could name one of the node's, too. */
export const ourPortsNamedBy = (slice: EndpointSlice): readonly number[] => [...portsNamedBy(slice)].filter(isOurs);

/**
 * What a port stands for, of all slices that name it; undefined: nothing, and nobody listens there. Of several the oldest
 * counts, by creation and then by UID. One that has freed it counts as well, and stands for nothing: a client may still hold
 * an address that once led to its sandbox.
 */
export function standingOf(activatorPort: number, naming: readonly Stored<EndpointSlice>[]): Standing | undefined {
  const [slice] = [...naming].sort(olderFirst);
  const front = slice && tcpFrontOf(slice);
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

const isOurs = (port: number) => port >= tcpFrontPorts.first && port <= tcpFrontPorts.last;
