import type { Activity } from "../activity/activity.ts";
import { type KeepOpenDeps, keepOpen } from "../activity/keep-open.ts";
import { reach } from "../connect/connect.ts";
import type { ConnectDeps, ConnectRequest } from "../connect/connect-request.ts";
import type { Upstream } from "../connect/connector.ts";
import { ActivatorError, toActivatorError } from "../failures/error-codes.ts";
import { ClientGone } from "../request.ts";
import { refusalNow, refusalOf } from "./admit-peer.ts";
import type { PeerWaits } from "./peer-waits.ts";
import type { PortBinding } from "./ports/port-bindings.ts";
import type { TcpClient } from "./tcp-client.ts";
import { TcpRecord, type TcpRecordOptions } from "./tcp-record.ts";
import { relayTcp, type TunnelEnding, type TunnelOptions } from "./tcp-tunnel.ts";

export interface TcpDeps extends ConnectDeps, KeepOpenDeps, TcpRecordOptions {
  readonly clock: ConnectDeps["clock"];
  readonly cluster: ConnectDeps["cluster"];
  readonly activity: Activity;
  readonly tunnels: TunnelOptions;
  readonly peerWaits: PeerWaits;
}

/** Serves a connection to a port of a sandbox, as a request without a head. Never rejects. */
export async function serveTcp(client: TcpClient, binding: PortBinding, deps: TcpDeps): Promise<void> {
  const record = new TcpRecord(client, binding, deps);
  const use = deps.activity.useBy(undefined);
  try {
    const { clock, cluster, options, peerWaits: waits } = deps;
    const refusal = await refusalOf(client, binding, { clock, cluster, waits, ...options });
    if (client.left) return;
    if (refusal !== undefined) {
      record.peerRefused(refusal);
      return client.refuse();
    }
    const { namespace, sandboxName: name, sandboxUid: uid, containerPort: port } = binding;
    const connectRequest = {
      to: { namespace, name, uid, port },
      client,
      deps: deps,
      observer: record,
      use,
    };
    const upstream = await reach(connectRequest);
    // Its owner may have changed who may connect, while it was held. A Pod that has sent its data may have ended: its data counts.
    const laterRefusal = refusalNow(client.peer, binding, { cluster, ...options });
    if (laterRefusal !== undefined && laterRefusal !== "NoPod") {
      upstream.socket.destroy();
      record.peerRefused(laterRefusal);
      return client.refuse();
    }
    record.reached(upstream.target);
    record.relayed(await relay(client, upstream, connectRequest, deps));
  } catch (error) {
    if (!(error instanceof ClientGone || client.left)) record.refused(toActivatorError(error));
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
