import { rows } from "../../lib/data/rows.ts";

/**
 * The steps of a wake, in milliseconds since the activator saw the request. Undefined: not observed. The activator's
 * access log has it as `wake`.
 */
export interface WakeTimeline {
  readonly seen: 0;
  readonly wakePatched: number | undefined;
  readonly podCreated: number | undefined;
  readonly portAccepted: number | undefined;
  readonly firstByte: number | undefined;
}

/** The timeline for users, a line for each step. */
export function describeTimeline({ wakePatched, podCreated, portAccepted, firstByte }: WakeTimeline): string {
  return rows([
    ["request seen", milliseconds(0)],
    ["resume written to the API", milliseconds(wakePatched)],
    ["Pod created", milliseconds(podCreated)],
    ["port accepts connections", milliseconds(portAccepted)],
    ["response begins", milliseconds(firstByte)],
  ]);
}

function milliseconds(at: number | undefined): string {
  return at === undefined ? "        ?" : `${at.toFixed(1).padStart(6)} ms`;
}
