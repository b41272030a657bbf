import type { SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { wholeSeconds } from "../../../api/rules/conditions.ts";
import { readTime } from "../../../api/rules/timestamps.ts";

export type ActivityTimes = Pick<SandboxStatus, "lastActivityTime" | "nextSuspensionTime">;

/** Each is written at most that often: it is for people to read. */
const betweenWritesMs = 60_000;
/** Two reports of the same moment differ by less. */
const sameMs = 5_000;

/**
 * What the status of a sandbox is to say of its use; undefined when what it says is good enough. Times that appear or
 * vanish are written at once, for that happens when the sandbox falls asleep, wakes or changes its settings.
 */
export function timesToWrite(
  written: ActivityTimes,
  known: { readonly last: Date | undefined; readonly next: Date | undefined },
  sinceWrittenMs: number,
): ActivityTimes | undefined {
  const late = sinceWrittenMs >= betweenWritesMs;
  const last = better(written.lastActivityTime, known.last, late);
  const next = better(written.nextSuspensionTime, known.next, late);
  if (last === written.lastActivityTime && next === written.nextSuspensionTime) return undefined;
  return {
    ...(last !== undefined && { lastActivityTime: last }),
    ...(next !== undefined && { nextSuspensionTime: next }),
  };
}

function better(written: string | undefined, known: Date | undefined, late: boolean): string | undefined {
  if (known === undefined) return undefined;
  if (written === undefined) return wholeSeconds(known);
  const before = readTime(written);
  if (!before) return wholeSeconds(known);
  const differs = Math.abs(before.getTime() - known.getTime()) >= sameMs;
  return differs && late ? wholeSeconds(known) : written;
}
