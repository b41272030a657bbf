import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { type Instant, ticksOf } from "./instant.ts";

/** How a Pod came up, in monotonic milliseconds. */
export interface PodStart {
  readonly createdMs: number;
  /** When it was Ready for the first time; undefined: it has not been yet. */
  readonly readyMs: number | undefined;
}

interface Known extends PodStart {
  readonly podUid: string;
  /** When it was last seen not to have been Ready yet. */
  readonly unreadyMs: number;
}

/**
 * Since when Pods exist, and are Ready. Each time in a Pod is used once, when this process first sees it: a
 * clock that is set back would otherwise make every Pod new, and keep all sandboxes awake until it has caught up.
 */
export class PodStarts {
  readonly #bySandbox = new Map<string, Known>();

  startOf(sandboxUid: string, pod: Stored<Pod>, at: Instant): PodStart {
    const known = this.#bySandbox.get(sandboxUid);
    const before = known?.podUid === pod.metadata.uid ? known : firstSight(pod, at);
    if (before.readyMs !== undefined) return before;
    const start = { ...before, unreadyMs: at.nowMs, readyMs: readyMs(pod, before.unreadyMs, at) };
    this.#bySandbox.set(sandboxUid, start);
    return start;
  }

  /** The sandbox is no more. */
  forget(sandboxUid: string): void {
    this.#bySandbox.delete(sandboxUid);
  }
}

function firstSight({ metadata }: Stored<Pod>, at: Instant): Known {
  const createdMs = ticksOf(metadata.creationTimestamp, at);
  return { podUid: metadata.uid, createdMs, readyMs: undefined, unreadyMs: createdMs };
}

/** Never before the Pod was seen not to be Ready, whatever the clock of its node says. */
function readyMs({ status }: Pod, unreadyMs: number, at: Instant): number | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status !== "True") return undefined;
  return ready.lastTransitionTime ? Math.max(ticksOf(ready.lastTransitionTime, at), unreadyMs) : at.nowMs;
}
