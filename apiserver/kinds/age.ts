import { readTime } from "../../api/rules/timestamps.ts";
/**
 * An age in the format of kubectl: `45s`, `3m2s`, `12m`, `5h20m`, `2d3h`, `30d`, `2y40d`. Two units are shown while the
 * smaller one matters.
 */
export function ageSince(timestamp: string | undefined, now: Date): string {
  const then = readTime(timestamp);
  return then ? humanDuration(now.getTime() - then.getTime()) : "<unknown>";
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

export function humanDuration(durationMs: number): string {
  const seconds = Math.floor(durationMs / 1_000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return two(seconds, [minute, "m"], [1, "s"]);
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return two(seconds, [hour, "h"], [minute, "m"]);
  if (seconds < 2 * day) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return two(seconds, [day, "d"], [hour, "h"]);
  if (seconds < 2 * year) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * year) return two(seconds, [year, "y"], [day, "d"]);
  return `${Math.floor(seconds / year)}y`;
}

/** The seconds of a unit, and its letter. */
type Unit = readonly [number, string];

function two(seconds: number, [large, largeUnit]: Unit, [small, smallUnit]: Unit): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)}${largeUnit}${rest > 0 ? `${rest}${smallUnit}` : ""}`;
}
