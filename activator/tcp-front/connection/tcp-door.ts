import type { Upstream } from "../../connect/connector.ts";
import type { ConnectionRefusal } from "./refusals.ts";
import type { TcpClient } from "./tcp-client.ts";
import type { TcpDestination } from "./tcp-destination.ts";

/** Who may connect, and how a connection begins: what differs between the ways that lead to a sandbox. */
export interface TcpDoor {
  /** Why the client may not connect; undefined: it may. This wakes nothing. */
  refusalOf(client: TcpClient, to: TcpDestination): Promise<ConnectionRefusal | undefined>;
  /** Whether a client that may connect is an outsider. */
  isOutsider(client: TcpClient, to: TcpDestination): boolean;
  /** The same as `refusalOf` for a client that was held meanwhile. */
  laterRefusalOf(client: TcpClient, to: TcpDestination): ConnectionRefusal | undefined;
  /**
   * Says to the sandbox what must come before the bytes of the client. Absent: nothing. It closes the connection if it fails.
   *
   * @throws ConnectionRefused if the sandbox does not answer as it must; ClientGone if the client leaves.
   */
  begin?(upstream: Upstream, client: TcpClient): Promise<void>;
}
