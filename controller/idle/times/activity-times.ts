import type { SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { wholeSeconds } from "../../../api/rules/conditions.ts";
import { readTime } from "../../../api/rules/timestamps.ts";

export type ActivityTimes = Pick<SandboxStatus, "lastActivityTime" | "nextSuspensionTime">;

export interface KnownTimes {
  readonly last: Date | undefined;
  readonly next: Date | undefined;
}

export type TimesDecision =
  | { readonly is: "written" }
  | { readonly is: "due"; readonly times: ActivityTimes }
  /** The times differ, and the change may wait for so long. */
  | { readonly is: "waiting"; readonly forMs: number };

/** Interval between writes for a sandbox in use: the times are for people to read. */
export const betweenWritesMs = 60_000;
/** Two reports of the same time differ by less. */
const sameMs = 5_000;

/**
 * Whether the activity times in the status of a sandbox are to be written. Times that appear, disappear or mislead are
 * written at once, all others later. A write always has both true times.
 */
export function decideTimes(written: ActivityTimes, known: KnownTimes, sinceWrittenMs: number): TimesDecision {
  const changes = [
    changeOf(readTime(written.lastActivityTime), known.last),
    changeOf(readTime(written.nextSuspensionTime), known.next),
  ];
  if (changes.every((change) => change === "none")) return { is: "written" };
  const waitMs = changes.includes("appearance") || changes[1] === "earlier" ? 0 : betweenWritesMs - sinceWrittenMs;
  if (waitMs > 0) return { is: "waiting", forMs: waitMs };
  return {
    is: "due",
    times: {
      ...(known.last && { lastActivityTime: wholeSeconds(known.last) }),
      ...(known.next && { nextSuspensionTime: wholeSeconds(known.next) }),
    },
  };
}

function changeOf(written: Date | undefined, known: Date | undefined): "none" | "appearance" | "earlier" | "later" {
  if (!written || !known) return written === known ? "none" : "appearance";
  const movedMs = known.getTime() - written.getTime();
  if (Math.abs(movedMs) < sameMs) return "none";
  return movedMs < 0 ? "earlier" : "later";
}
