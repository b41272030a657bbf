import type { Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import { type IdleQuestion, ticksOf } from "./idleness.ts";

interface Start {
  readonly podUid: string;
  readonly sinceMs: number;
}

/**
 * Since when Pods are there. The time that a Pod tells is believed once, when this process first sees it: a clock that is set
 * back would otherwise make every Pod new, and keep all sandboxes awake until it has caught up.
 */
export class PodStarts {
  readonly #bySandbox = new Map<string, Start>();

  /** Monotonic milliseconds. */
  sinceMs(sandboxUid: string, { metadata }: Stored<Pod>, at: Pick<IdleQuestion, "now" | "nowMs">): number {
    const known = this.#bySandbox.get(sandboxUid);
    if (known?.podUid === metadata.uid) return known.sinceMs;
    const start = { podUid: metadata.uid, sinceMs: ticksOf(metadata.creationTimestamp, at) };
    this.#bySandbox.set(sandboxUid, start);
    return start.sinceMs;
  }

  /** The sandbox is no more. */
  forget(sandboxUid: string): void {
    this.#bySandbox.delete(sandboxUid);
  }
}
