import { type EndpointSlice, tcpFrontOf } from "../../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { TcpDestination } from "../connection/tcp-destination.ts";

/** The sandbox and port that a port of the activators stands for. */
export interface PortBinding extends TcpDestination {
  readonly activatorPort: number;
}

/**
 * The binding of a port by the slice that it belongs to; undefined: none, and the port is closed. A slice that has released the
 * port gives no binding: a client may still hold an address that once led to its sandbox.
 */
export function portBindingOf(
  activatorPort: number,
  slice: Stored<EndpointSlice> | undefined,
): PortBinding | undefined {
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
