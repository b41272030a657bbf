/** What a workload answered; undefined: nothing, or not in time. */
export type ProbeAnswer = number | undefined;

export interface ProbeVerdict {
  readonly maySleep: boolean;
  /** Since when the workload has said in a row that it is busy, in monotonic milliseconds; to be handed in next time. */
  readonly busySinceMs: number | undefined;
  /** It says that it is busy, and has done so for too long. */
  readonly overruled: boolean;
}

/** How soon a workload that is busy is asked again. */
export const probeAgainMs = 10_000;

/** 2xx lets it sleep. Anything else is busy, for at most `limitSeconds` in a row. */
export function judgeProbe(
  answer: ProbeAnswer,
  busySinceMs: number | undefined,
  limitSeconds: number,
  nowMs: number,
): ProbeVerdict {
  if (answer !== undefined && answer >= 200 && answer < 300) {
    return { maySleep: true, busySinceMs: undefined, overruled: false };
  }
  const sinceMs = busySinceMs ?? nowMs;
  const overruled = nowMs - sinceMs >= limitSeconds * 1000;
  return { maySleep: overruled, busySinceMs: sinceMs, overruled };
}
