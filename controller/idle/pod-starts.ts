import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { readTime } from "../../api/rules/timestamps.ts";
import { type Instant, ticksOf } from "./instant.ts";

/** From when on a sandbox may count as unused, in monotonic milliseconds. */
export interface PodStart {
  /** When this process first saw it with this Pod and without an exemption. */
  readonly seenMs: number;
  /** When its Pod was Ready for the first time since then; undefined: it has not been yet. */
  readonly readyMs: number | undefined;
  /** Whether a former leader has watched it before, whose written times count. */
  readonly isInherited: boolean;
  /** The last activity that this leader has written. */
  readonly recordedMs: number | undefined;
}

interface Known extends PodStart {
  readonly podUid: string;
}

interface Entry {
  /** Undefined while the sandbox is exempt. */
  readonly current: Known | undefined;
  /** Of before the last attempt to suspend it. */
  readonly attempted?: Known | undefined;
}

/** How long the written times of a sandbox do not count yet: the clock of this process may be ahead of their writers'. */
const untrustedMs = 60_000;

/** From when on the written times of an inherited sandbox count, unless its idle time is shorter. */
export const trustedFromMs = ({ seenMs, isInherited }: PodStart, inactivityTimeoutMs: number): number =>
  isInherited ? seenMs + Math.min(inactivityTimeoutMs, untrustedMs) : Number.NEGATIVE_INFINITY;

/**
 * The start of the idle time of sandboxes. It is the moment at which this process sees a Pod come up, or an exemption end, by
 * its own monotonic clock: other clocks may be ahead or behind. The times in a Sandbox and its Pod count only where a former
 * leader has watched the sandbox already, which `nextSuspensionTime` shows, and each is read once (decision 0040).
 */
export class PodStarts {
  readonly #bySandbox = new Map<string, Entry>();

  startOf(sandbox: Stored<Sandbox>, pod: Stored<Pod>, at: Instant): PodStart {
    const { uid } = sandbox.metadata;
    const entry = this.#bySandbox.get(uid);
    const isInherited = entry === undefined && readTime(sandbox.status?.nextSuspensionTime) !== undefined;
    const before = entry?.current?.podUid === pod.metadata.uid ? entry.current : undefined;
    if (before && before.readyMs !== undefined) return before;
    const current = {
      podUid: pod.metadata.uid,
      seenMs: before?.seenMs ?? at.nowMs,
      readyMs: readyMs(pod, at, isInherited),
      isInherited: isInherited || before?.isInherited === true,
      recordedMs: isInherited ? recordedMs(sandbox, at) : before?.recordedMs,
    };
    this.#bySandbox.set(uid, { ...entry, current });
    return current;
  }

  /** The sandbox is exempt, or has no Pod: its idle time starts anew after that. */
  exempt(sandboxUid: string): void {
    this.#bySandbox.set(sandboxUid, { ...this.#bySandbox.get(sandboxUid), current: undefined });
  }

  /** It is about to be suspended for inactivity. */
  attempted(sandboxUid: string): void {
    const current = this.#bySandbox.get(sandboxUid)?.current;
    this.#bySandbox.set(sandboxUid, { current, attempted: current });
  }

  /** That attempt was cancelled: its idle time goes on. */
  cancelled(sandboxUid: string): void {
    const attempted = this.#bySandbox.get(sandboxUid)?.attempted;
    if (attempted) this.#bySandbox.set(sandboxUid, { current: attempted });
  }

  /** The sandbox is no more. */
  forget(sandboxUid: string): void {
    this.#bySandbox.delete(sandboxUid);
  }
}

function readyMs({ status }: Pod, at: Instant, isInherited: boolean): number | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status !== "True") return undefined;
  const since = isInherited ? readTime(ready.lastTransitionTime) : undefined;
  return since ? ticksOf(since, at) : at.nowMs;
}

/** A time in the future is of a clock that was ahead, and does not count. */
function recordedMs({ status }: Sandbox, at: Instant): number | undefined {
  const time = readTime(status?.lastActivityTime);
  return time && time <= at.now ? ticksOf(time, at) : undefined;
}
