/** Whether a container that ended is started again. Absent means `Always`, as in the API. */
export function shouldRestart(restartPolicy: string | undefined, exitCode: number): boolean {
  if (restartPolicy === "Never") return false;
  if (restartPolicy === "OnFailure") return exitCode !== 0;
  return true;
}

/** The policy of an init container that is no sidecar: it has to succeed once, so `Always` means until it does. */
export function initRestartPolicy(podPolicy: string | undefined): string {
  return podPolicy === "Never" ? "Never" : "OnFailure";
}

// The kubelet's numbers: 10 s doubling to 5 min, forgotten after a run of twice the longest delay.
const firstDelayMs = 10_000;
const longestDelayMs = 300_000;
const forgivenAfterMs = 600_000;

/** How many ends in a row count for the delay, now that one more came after a run of `ranMs` milliseconds. */
export function countEnd(endsBefore: number, ranMs: number): number {
  return ranMs >= forgivenAfterMs ? 1 : endsBefore + 1;
}

/** How long after its end a container is started again. The first time it is at once. */
export function restartDelayMs(ends: number): number {
  if (ends <= 1) return 0;
  return Math.min(firstDelayMs * 2 ** Math.min(ends - 2, 30), longestDelayMs);
}
