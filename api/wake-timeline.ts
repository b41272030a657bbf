import { rows } from "../lib/rows.ts";

/**
 * When the steps of a wake happened, in milliseconds since the request that woke was seen. Undefined: not seen. The activator's
 * access log has it as `wake`.
 */
export interface WakeTimeline {
  readonly seen: 0;
  readonly wakePatched: number | undefined;
  readonly podCreated: number | undefined;
  readonly portAccepted: number | undefined;
  readonly firstByte: number | undefined;
}

/** The timeline as a person reads it, a line for each step. */
export function describeTimeline({ wakePatched, podCreated, portAccepted, firstByte }: WakeTimeline): string {
  return rows([
    ["connection seen", milliseconds(0)],
    ["wake patched", milliseconds(wakePatched)],
    ["Pod created", milliseconds(podCreated)],
    ["port accepts", milliseconds(portAccepted)],
    ["first byte", milliseconds(firstByte)],
  ]);
}

function milliseconds(at: number | undefined): string {
  return at === undefined ? "        ?" : `${at.toFixed(1).padStart(6)} ms`;
}
