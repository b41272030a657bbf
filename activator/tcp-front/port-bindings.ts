import type { Stored } from "../../api/kinds/meta.ts";
import {
  type EndpointSlice,
  olderFirst,
  portsNamedBy,
  tcpFrontOf,
  tcpFrontPorts,
} from "../../api/protocols/tcp-front.ts";

/** The sandbox and port that a port of the activators stands for. */
export interface PortBinding {
  readonly activatorPort: number;
  readonly namespace: string;
  readonly sandboxName: string;
  readonly sandboxUid: string;
  /** The port that the sandbox listens on. */
  readonly containerPort: number;
}

/** The ports of a slice that are in our range: a user who may write slices could name a port of the node. */
export const ourPortsNamedBy = (slice: EndpointSlice): readonly number[] => [...portsNamedBy(slice)].filter(isOurs);

/**
 * The binding of a port, from all slices that name it; undefined: none, and the port is closed. Of several slices the oldest
 * wins, by creation and then by UID. A slice that has released the port takes part and gives no binding: a client may still
 * hold an address that once led to its sandbox.
 */
export function portBindingOf(
  activatorPort: number,
  naming: readonly Stored<EndpointSlice>[],
): PortBinding | undefined {
  const [slice] = [...naming].sort(olderFirst);
  const front = slice && tcpFrontOf(slice);
  if (!front || front.freedAt !== undefined) return undefined;
  const port = front.ports.find((each) => each.activatorPort === activatorPort);
  if (!port) return undefined;
  const { sandboxName, sandboxUid } = front;
  const { namespace = "" } = slice.metadata;
  return { activatorPort, namespace, sandboxName, sandboxUid, containerPort: port.containerPort };
}

export const isSamePortBinding = (one: PortBinding | undefined, other: PortBinding | undefined): boolean =>
  one?.activatorPort === other?.activatorPort &&
  one?.namespace === other?.namespace &&
  one?.sandboxName === other?.sandboxName &&
  one?.sandboxUid === other?.sandboxUid &&
  one?.containerPort === other?.containerPort;

const isOurs = (port: number) => port >= tcpFrontPorts.first && port <= tcpFrontPorts.last;
