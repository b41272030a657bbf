import type { Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { isUnschedulable } from "../failures/detect-failures.ts";
import type { OwnProbe } from "../readiness/readiness.ts";
import type { Question, Resolution } from "./resolve.ts";
import type { SlimSandbox } from "./slim-sandbox.ts";

/** The part of a running sandbox's resolution that changes with the versions of the sandbox or its Pod alone. */
interface Known {
  readonly pod: Stored<Pod>;
  readonly allowLoopbackPodIp: boolean;
  readonly ip: string;
  readonly firstPort: number;
  readonly probes: readonly OwnProbe[];
  /** Monotonic milliseconds. */
  readonly youngUntilMs: number;
  /** The sandbox's `shutdownTime` as wall time in milliseconds; infinity without one. */
  readonly endsMs: number;
}

export type Found = Omit<Known, "pod" | "allowLoopbackPodIp">;

/** By version of the sandbox; each version is another object. */
const known = new WeakMap<Stored<SlimSandbox>, Known>();

/**
 * An earlier resolution, if a new one must be equal: warm requests resolve the same two objects again and again, and reading
 * both is most of the cost. Undefined: resolve again.
 */
export function cachedResolution(question: Question): Resolution | undefined {
  const { sandbox, pod, routed, firstUid, fences, allowLoopbackPodIp, now, nowMs, validForMs } = question;
  const found = sandbox && known.get(sandbox);
  if (!found || found.pod !== pod || found.allowLoopbackPodIp !== allowLoopbackPodIp) return undefined;
  if (fences.reportedGeneration !== 0 || fences.fenced.size > 0 || routed.podIp !== undefined) return undefined;
  if (firstUid !== undefined && firstUid !== sandbox.metadata.uid) return undefined;
  const { ip, firstPort, probes, youngUntilMs } = found;
  const endsAfterMs = found.endsMs - now.getTime();
  if (endsAfterMs <= 0) return undefined;
  const young = nowMs < youngUntilMs;
  const { namespace, port = firstPort } = routed;
  const target = { namespace, podUid: pod.metadata.uid, ip, port, probes, young };
  const recheckAfterMs = soonestMs(validForMs, endsAfterMs, young ? youngUntilMs - nowMs : validForMs);
  return { is: "addressed", target, failure: undefined, recheckAfterMs };
}

/** At least a millisecond, so that a wait for it rests. */
export const soonestMs = (...leftMs: readonly number[]): number => Math.max(Math.min(...leftMs), 1);

/** Caches a resolution, unless time, the port or the requested address affects it. */
export function cacheResolution({ sandbox, pod, routed, allowLoopbackPodIp }: Question, found: Found): void {
  if (!sandbox || !pod || routed.podIp !== undefined || routed.byUid) return;
  if (pod.spec?.hostNetwork || isUnschedulable(pod)) return;
  known.set(sandbox, { ...found, pod, allowLoopbackPodIp });
}
