import type { KubeClient } from "../../kube/client/client.ts";
import type { OpenGate } from "../socket/proxy-protocol/header-gate.ts";
import type { TcpLimits } from "./connection/create-tcp-deps.ts";
import { serveTcp, type TcpDeps } from "./connection/serve-tcp.ts";
import { doorOfPeers } from "./peer-door.ts";
import { PeerWaits } from "./peer-waits.ts";
import { startTcpFront, type TcpFront } from "./tcp-front.ts";
import type { TcpFrontConfig } from "./tcp-front-config.ts";

interface Parts {
  readonly client: KubeClient;
  readonly hasRoom: (besides: number) => boolean;
  readonly openGate: OpenGate | undefined;
}

/** The front of activator ports. It shares everything behind it with HTTP requests. */
export function openTcpFront(config: TcpFrontConfig, limits: TcpLimits, deps: TcpDeps, parts: Parts): TcpFront {
  const { clock, cluster, log, metrics, options } = deps;
  const { allowLoopbackPodIp } = options;
  const door = doorOfPeers({ clock, cluster, allowLoopbackPodIp, waits: new PeerWaits(cluster) });
  const serve: Parameters<typeof startTcpFront>[1]["serve"] = (client, binding) =>
    serveTcp(client, binding, deps, door);
  return startTcpFront({ ...config, ...limits }, { ...parts, clock, log, cluster, metrics, serve });
}
