import type { Activity } from "../../activity/activity.ts";
import { type KeepOpenDeps, keepOpen } from "../../activity/keep-open.ts";
import { reach } from "../../connect/connect.ts";
import type { ConnectDeps, ConnectRequest } from "../../connect/connect-request.ts";
import type { Upstream } from "../../connect/connector.ts";
import { ActivatorError, toActivatorError } from "../../failures/errors-for-clients.ts";
import { ClientGone } from "../../request.ts";
import { ConnectionRefused } from "./refusals.ts";
import type { TcpClient } from "./tcp-client.ts";
import type { TcpDestination } from "./tcp-destination.ts";
import type { TcpDoor } from "./tcp-door.ts";
import { TcpRecord, type TcpRecordOptions } from "./tcp-record.ts";
import { relayTcp, type TunnelEnding, type TunnelOptions } from "./tcp-tunnel.ts";

export interface TcpDeps extends ConnectDeps, KeepOpenDeps, TcpRecordOptions {
  readonly clock: ConnectDeps["clock"];
  readonly cluster: ConnectDeps["cluster"];
  readonly activity: Activity;
  readonly tunnels: TunnelOptions;
}

/** Serves a connection to a port of a sandbox, as a request without a head. Never rejects. */
export async function serveTcp(client: TcpClient, to: TcpDestination, deps: TcpDeps, door: TcpDoor): Promise<void> {
  const record = new TcpRecord(client, to, deps);
  const use = deps.activity.useBy(undefined);
  try {
    const refusal = await door.refusalOf(client, to);
    if (client.left) return;
    if (refusal !== undefined) throw new ConnectionRefused(refusal);
    const { namespace, sandboxName: name, sandboxUid: uid, containerPort: port } = to;
    const connectRequest = {
      to: { namespace, name, uid, port },
      client,
      deps: deps,
      observer: record,
      use,
      isOutsider: door.isOutsider(client, to),
    };
    const upstream = await reach(connectRequest);
    if (door.begin) {
      use.dispatched();
      await door.begin(upstream, client);
    }
    // Its owner may have changed who may connect, while it was held.
    const laterRefusal = door.laterRefusalOf(client, to);
    if (laterRefusal !== undefined) {
      upstream.socket.destroy();
      throw new ConnectionRefused(laterRefusal);
    }
    record.reached(upstream.target);
    record.relayed(await relay(client, upstream, connectRequest, deps));
  } catch (error) {
    if (error instanceof ConnectionRefused) record.connectionRefused(error.reason);
    else if (!(error instanceof ClientGone || client.left)) record.refused(toActivatorError(error));
    client.refuse();
  } finally {
    use.end();
    record.ended();
  }
}

/** @throws ActivatorError if the sandbox has closed its side meanwhile; ClientGone if the client has. */
async function relay(
  client: TcpClient,
  upstream: Upstream,
  { to, use }: ConnectRequest,
  deps: TcpDeps,
): Promise<TunnelEnding> {
  const { target, socket } = upstream;
  if (client.left || socket.destroyed) {
    socket.destroy();
    throw client.left ? new ClientGone("the client left") : new ActivatorError("ResponseLost", { subject: to.name });
  }
  using over = new DisposableStack();
  const onEnded = (listener: () => void) => over.defer(listener);
  use.dispatched();
  return await relayTcp(
    client,
    upstream,
    (connection) => keepOpen(connection, { to, target, use, onEnded }, deps),
    deps.tunnels,
  );
}
