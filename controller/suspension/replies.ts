import type { Pod } from "../../api/pod.ts";
import { isPodReady } from "../sandbox/pod-state.ts";

/** What came of calling one activator about one sandbox. */
export type Reply =
  | {
      readonly is: "answered";
      readonly inFlight: number;
      /** Requests that do not count; absent: none. */
      readonly ignored?: number;
      /** Milliseconds since the last activity that it knows of; undefined when it knows of none. */
      readonly idleForMs: number | undefined;
      /** It has seen a later generation than the one that it was told of. */
      readonly superseded: boolean;
    }
  /** It does not run, so that it carries nothing; and it looks at the cluster before it does. */
  | { readonly is: "absent" }
  /** Nobody knows what it carries. */
  | { readonly is: "silent"; readonly forMs: number };

/** A replica that cannot be reached keeps sandboxes awake for so long; after that it is as good as gone. */
export const longestSilenceMs = 300_000;

/**
 * What a refused connection means. An activator listens before it first looks at the cluster and until it carries nothing
 * more; but what refuses may be something between. So it takes the kubelet's word that the container does not run, or a
 * Pod that is neither ready nor on its way out.
 */
export function replyToRefusal(activator: Pod, container: string, silentForMs: number): Reply {
  const state = activator.status?.containerStatuses?.find(({ name }) => name === container)?.state;
  const down = state?.terminated !== undefined || state?.waiting !== undefined;
  const neverServed = !isPodReady(activator) && activator.metadata.deletionTimestamp === undefined;
  return down || neverServed ? { is: "absent" } : { is: "silent", forMs: silentForMs };
}

const isMute = (reply: Reply) => reply.is === "silent" && reply.forMs < longestSilenceMs;

/** Why a sandbox may not be suspended for inactivity after all; undefined when everybody says that it may. */
export function reasonToStayAwake(replies: readonly Reply[], neededIdleMs: number): string | undefined {
  if (replies.length === 0) return "no activator is there to ask";
  if (replies.some(isMute)) return "an activator cannot be reached";
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
  /** Requests that do not count. */
  readonly ignored: number;
  /** Somebody may carry something, and could not be asked. */
  readonly unknown: boolean;
}

/** What is still carried to a sealed Pod, `sealedForMs` after the seal. */
export function loadOf(replies: readonly Reply[], sealedForMs: number): Load {
  const sum = (of: (reply: Extract<Reply, { is: "answered" }>) => number) =>
    replies.reduce((total, reply) => total + (reply.is === "answered" ? of(reply) : 0), 0);
  const inFlight = sum((reply) => reply.inFlight);
  const ignored = sum((reply) => reply.ignored ?? 0);
  const nobodyThere = replies.length === 0 && sealedForMs < longestSilenceMs;
  return { inFlight, ignored, unknown: nobodyThere || replies.some(isMute) };
}
