import type { Pod } from "../../../api/kinds/pod.ts";
import { isPodReady } from "../../sandbox/pod-state.ts";
import { delaysDeletion, isLost, keepsAwake, longestSilenceMs, type Silence } from "./silence.ts";

/** The result of calling one activator about one sandbox. */
export type Reply =
  | {
      readonly is: "answered";
      readonly inFlight: number;
      /** Requests that do not count; absent: zero. */
      readonly ignored?: number;
      /** Milliseconds since the last activity that it knows of; undefined when it knows of none. */
      readonly idleForMs: number | undefined;
      /** It has seen a later generation than the one in the call. */
      readonly superseded: boolean;
    }
  /** It does not run, so it proxies nothing; and it reads the cluster before it proxies. */
  | { readonly is: "absent" }
  /** It is unknown what it proxies. */
  | ({ readonly is: "silent" } & Silence);

/**
 * The meaning of a refused connection. An activator listens before it first reads the cluster and until it proxies nothing
 * more; but a device between may refuse instead. So the activator is absent only if the kubelet reports that the container
 * does not run, or the Pod is neither ready nor terminating.
 */
export function replyToRefusal(activator: Pod, container: string, silence: Silence): Reply {
  const state = activator.status?.containerStatuses?.find(({ name }) => name === container)?.state;
  const down = state?.terminated !== undefined || state?.waiting !== undefined;
  const neverServed = !isPodReady(activator) && activator.metadata.deletionTimestamp === undefined;
  return down || neverServed ? { is: "absent" } : { is: "silent", ...silence };
}

/**
 * Why a sandbox may not be suspended for inactivity after all; undefined when every activator permits it.
 * `silenceLimitMs`: how long an activator that is Ready may be silent before it counts for nothing.
 */
export function reasonToStayAwake(
  replies: readonly Reply[],
  neededIdleMs: number,
  silenceLimitMs: number,
): string | undefined {
  if (replies.length === 0) return "no activator is there to ask";
  if (replies.some((reply) => reply.is === "silent" && keepsAwake(reply, silenceLimitMs))) {
    return "activator not responding";
  }
  for (const reply of replies) {
    if (reply.is !== "answered") continue;
    if (reply.superseded) return "it was changed meanwhile";
    if (reply.inFlight > 0) return `${reply.inFlight} in flight`;
    if (reply.idleForMs !== undefined && reply.idleForMs < neededIdleMs) return "it was used meanwhile";
  }
  return undefined;
}

export interface Load {
  readonly inFlight: number;
  /** Number of requests that do not count. */
  readonly ignored: number;
  /** An activator that may proxy requests could not be asked: wait for it. */
  readonly unknown: boolean;
  /** Number of activators that may proxy requests and could not be asked, whether or not to wait for them. */
  readonly unasked: number;
}

/** Requests still in flight to a sealed Pod, `sealedForMs` after the seal. */
export function loadOf(replies: readonly Reply[], sealedForMs: number): Load {
  const sum = (of: (reply: Extract<Reply, { is: "answered" }>) => number) =>
    replies.reduce((total, reply) => total + (reply.is === "answered" ? of(reply) : 0), 0);
  const inFlight = sum((reply) => reply.inFlight);
  const ignored = sum((reply) => reply.ignored ?? 0);
  const nobodyThere = replies.length === 0 && sealedForMs < longestSilenceMs;
  const silent = replies.filter((reply) => reply.is === "silent");
  const unknown = nobodyThere || silent.some((reply) => delaysDeletion(reply, sealedForMs));
  return { inFlight, ignored, unknown, unasked: silent.filter((reply) => !isLost(reply)).length };
}
