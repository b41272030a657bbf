import type { Registry } from "prom-client";
import type { WakeTimeline } from "../../../api/between-programs/wake-timeline.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { OncePerMinute } from "../../../lib/time/once-per-minute.ts";
import type { Activity } from "../../activity/activity.ts";
import type { KeepOpenDeps } from "../../activity/keep-open.ts";
import type { ConnectDeps } from "../../connect/connect-request.ts";
import type { AccessLog } from "../../observe/access-log.ts";
import type { WakeMetrics } from "../../observe/wake-metrics.ts";
import type { BufferLoans } from "../../socket/read-place.ts";
import type { Sweep } from "../../sweep.ts";
import type { TcpDeps } from "./serve-tcp.ts";
import { createTcpMetrics } from "./tcp-metrics.ts";

export interface TcpLimits {
  readonly maxConnections: number;
  readonly tunnelIdleMs: number;
  readonly tunnelLifetimeMs: number;
}

export type TcpMiddle = ConnectDeps & KeepOpenDeps & { readonly activity: Activity };

export interface TcpDepsParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  readonly wakes: WakeMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly onWake?: (timeline: WakeTimeline) => void;
}

/** What all fronts of raw connections share. `listeners`: the number of activator ports with a listener. */
export function createTcpDeps(
  limits: TcpLimits,
  middle: TcpMiddle,
  parts: TcpDepsParts,
  listeners: () => number,
): TcpDeps {
  const { clock, log, registry, wakes, accessLog, onWake } = parts;
  const { cluster, prober } = middle;
  return {
    ...middle,
    ...{ clock, cluster, log, wakes, accessLog, onWake },
    metrics: createTcpMetrics(registry, { listeners }),
    tunnels: { ...parts, ...limits },
    mayLog: new OncePerMinute(clock),
    podSeenMs: (podUid) => cluster.podSeenMs(podUid),
    acceptedMs: (target) => prober.acceptedMs(target),
  };
}
