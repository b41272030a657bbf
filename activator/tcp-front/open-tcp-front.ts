import type { Registry } from "prom-client";
import type { WakeTimeline } from "../../api/protocols/wake-timeline.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import type { Activity } from "../activity/activity.ts";
import type { KeepOpenDeps } from "../activity/keep-open.ts";
import type { ConnectDeps } from "../connect/connect-request.ts";
import type { AccessLog } from "../observe/access-log.ts";
import type { WakeMetrics } from "../observe/wake-metrics.ts";
import type { BufferLoans } from "../socket/read-place.ts";
import type { Sweep } from "../sweep.ts";
import { PeerWaits } from "./peer-waits.ts";
import { serveTcp, type TcpDeps } from "./serve-tcp.ts";
import { startTcpFront, type TcpFront } from "./tcp-front.ts";
import type { TcpFrontConfig } from "./tcp-front-config.ts";
import { createTcpMetrics } from "./tcp-metrics.ts";

interface Limits {
  readonly maxConnections: number;
  readonly tunnelIdleMs: number;
  readonly tunnelLifetimeMs: number;
}

type Middle = ConnectDeps & KeepOpenDeps & { readonly activity: Activity };

interface Parts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  readonly wakes: WakeMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly hasRoom: (besides: number) => boolean;
  readonly onWake?: (timeline: WakeTimeline) => void;
}

/** The front of raw connections. It shares everything behind it with HTTP requests. */
export function openTcpFront(config: TcpFrontConfig, limits: Limits, middle: Middle, parts: Parts): TcpFront {
  const { clock, log, registry, wakes, accessLog, onWake } = parts;
  const { cluster, prober } = middle;
  const metrics = createTcpMetrics(registry, { listeners: () => front.listening });
  const world: TcpDeps = {
    ...middle,
    ...{ clock, cluster, log, metrics, wakes, accessLog, onWake },
    peerWaits: new PeerWaits(cluster),
    tunnels: { ...parts, ...limits },
    mayLog: new OncePerMinute(clock),
    podSeenMs: (podUid) => cluster.podSeenMs(podUid),
    acceptedMs: (target) => prober.acceptedMs(target),
  };
  const serve: Parameters<typeof startTcpFront>[1]["serve"] = (client, binding) => serveTcp(client, binding, world);
  const front: TcpFront = startTcpFront({ ...config, ...limits }, { ...parts, cluster, metrics, serve });
  return front;
}
