/** The maximum number of idle connections. */
export interface IdleLimits {
  /** To one port of a Pod; 0: no idle connections. */
  readonly perPort: number;
  /** To one Pod, unless it had more requests at the same time in the last seconds. */
  readonly perPod: number;
  readonly perNamespace: number;
  readonly total: number;
}

const perPodMax = 100;
const perNamespaceMax = 5_000;
const totalMax = 10_000;
/** The fraction of all sockets that may be idle: while too few are left, no client is accepted. */
const socketsShare = 0.25;

/** Limits for `perPort` connections to each port, in a process that may open `sockets`; absent: unlimited. */
export function idleLimits(perPort: number, sockets: number = Number.POSITIVE_INFINITY): IdleLimits {
  const total = Math.min(totalMax, Math.max(Math.floor(sockets * socketsShare), 1));
  return { perPort, perPod: perPodMax, perNamespace: Math.min(perNamespaceMax, total), total };
}
