import type { Registry } from "prom-client";
import type { WakeTimeline } from "../../api/wake-timeline.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import type { Activity } from "../activity/activity.ts";
import { OpenConnectionBook } from "../activity/open-connections.ts";
import type { AccessLog } from "../observe/access-log.ts";
import { OncePerMinute } from "../observe/once-per-minute.ts";
import type { WakeMetrics } from "../observe/wake-metrics.ts";
import type { Surroundings } from "../reach/errand.ts";
import type { BufferLoans } from "../socket/read-place.ts";
import type { StaySurroundings } from "../stay-open.ts";
import type { Sweep } from "../sweep.ts";
import { serveTcp, type TcpWorld } from "./serve-tcp.ts";
import { startTcpFront, type TcpFront } from "./tcp-front.ts";
import type { TcpFrontConfig } from "./tcp-front-config.ts";
import { createTcpMetrics } from "./tcp-metrics.ts";

interface Limits {
  readonly maxConnections: number;
  readonly tunnelIdleMs: number;
  readonly tunnelLifetimeMs: number;
}

type Middle = Surroundings & StaySurroundings & { readonly activity: Activity };

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

/** The front of raw connections, with the same middle behind it as requests have. */
export function openTcpFront(config: TcpFrontConfig, limits: Limits, middle: Middle, parts: Parts): TcpFront {
  const { clock, log, registry, wakes, accessLog, onWake } = parts;
  const { cluster, prober } = middle;
  const metrics = createTcpMetrics(registry, { listeners: () => front.listening });
  const carried = new OpenConnectionBook();
  cluster.onPodGone((podUid) => carried.closeAll(podUid));
  const world: TcpWorld = {
    ...middle,
    ...{ clock, cluster, log, metrics, wakes, accessLog, onWake },
    tunnels: { ...parts, ...limits, carried },
    mayLog: new OncePerMinute(clock),
    podSeenMs: (podUid) => cluster.podSeenMs(podUid),
    acceptedMs: (target) => prober.acceptedMs(target),
  };
  const serve: Parameters<typeof startTcpFront>[1]["serve"] = (client, standing) => serveTcp(client, standing, world);
  const front: TcpFront = startTcpFront({ ...config, ...limits }, { ...parts, cluster, metrics, serve });
  return front;
}
