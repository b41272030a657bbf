import { type ClockReading, hasJumped } from "../../lib/time/clock-jumps.ts";

// After a disturbance many sandboxes are overdue at once. Their suspensions are spread over time, so that they are not all
// suspended together.

/** A process that was late by so much was stopped, or starved. */
const pauseMs = 10_000;

/** What is wrong with how much time has passed between two readings that were to be `intervalMs` apart. */
export function clockAnomalyBetween(
  before: ClockReading,
  after: ClockReading,
  intervalMs: number,
): "jump" | "pause" | undefined {
  if (hasJumped(before, after)) return "jump";
  return after.ticksMs - before.ticksMs > intervalMs + pauseMs ? "pause" : undefined;
}

const longestSpreadMs = 120_000;

/** When a sandbox may go to sleep at the earliest after a disturbance: the same turn, however often it is asked. */
export function turnAfter(disturbedMs: number, sandboxUid: string, inactivityTimeoutMs: number): number {
  return disturbedMs + fractionOf(sandboxUid) * Math.min(inactivityTimeoutMs, longestSpreadMs);
}

/** A pseudo-random number from 0 to 1, from a name: FNV-1a, with its high bits mixed into all. */
function fractionOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}
