import type { Activity } from "../activity/activity.ts";
import { ActivatorError, toActivatorError } from "../errors.ts";
import type { Upstream } from "../reach/connector.ts";
import type { Errand, Surroundings } from "../reach/errand.ts";
import { reach } from "../reach/reach.ts";
import { ClientGone } from "../request.ts";
import { type StaySurroundings, stayOpen } from "../stay-open.ts";
import { refusalOf } from "./admit-peer.ts";
import type { Standing } from "./standings.ts";
import type { TcpClient } from "./tcp-client.ts";
import { TcpStory, type TcpStoryOptions } from "./tcp-story.ts";
import { carryTcp, type TunnelEnding, type TunnelOptions } from "./tcp-tunnel.ts";

export interface TcpWorld extends Surroundings, StaySurroundings, TcpStoryOptions {
  readonly clock: Surroundings["clock"];
  readonly cluster: Surroundings["cluster"];
  readonly activity: Activity;
  readonly tunnels: TunnelOptions;
}

/** The life of a connection to a port of a sandbox: that of a request that says nothing. Never rejects. */
export async function serveTcp(client: TcpClient, standing: Standing, world: TcpWorld): Promise<void> {
  const story = new TcpStory(client, standing, world);
  const use = world.activity.useBy(undefined);
  try {
    const { clock, cluster, options } = world;
    const refusal = await refusalOf(client, standing, { clock, cluster, ...options });
    if (client.left) return;
    if (refusal !== undefined) {
      story.peerRefused(refusal);
      return client.refuse();
    }
    const { namespace, sandboxName: name, sandboxUid: uid, containerPort: port } = standing;
    const errand = { to: { namespace, name, uid, port }, waiting: client, around: world, journey: story, use };
    const upstream = await reach(errand);
    story.reached(upstream.target);
    story.carried(await carry(client, upstream, errand, world));
  } catch (error) {
    if (!(error instanceof ClientGone || client.left)) story.refused(toActivatorError(error));
    client.refuse();
  } finally {
    use.end();
    story.ended();
  }
}

/** @throws ActivatorError when the sandbox has closed meanwhile; ClientGone when the client has. */
async function carry(
  client: TcpClient,
  upstream: Upstream,
  { to, use }: Errand,
  world: TcpWorld,
): Promise<TunnelEnding> {
  const { target, socket } = upstream;
  if (client.left || socket.destroyed) {
    socket.destroy();
    throw client.left ? new ClientGone("the client left") : new ActivatorError("ResponseLost", { subject: to.name });
  }
  using over = new DisposableStack();
  const onEnded = (listener: () => void) => over.defer(listener);
  use.answered();
  return await carryTcp(
    client,
    upstream,
    (connection) => stayOpen(connection, { to, target, use, onEnded }, world),
    world.tunnels,
  );
}
