/** Whether a container restarts after its end. Absent means `Always`, as in the API. */
export function shouldRestart(restartPolicy: string | undefined, exitCode: number): boolean {
  if (restartPolicy === "Never") return false;
  if (restartPolicy === "OnFailure") return exitCode !== 0;
  return true;
}

/** The policy of an init container that is not a sidecar: it must succeed once, so `Always` means until it succeeds. */
export function initRestartPolicy(podPolicy: string | undefined): string {
  return podPolicy === "Never" ? "Never" : "OnFailure";
}

// The kubelet's numbers: 10 s doubling to 5 min, reset after a run of twice the longest delay.
const firstDelayMs = 10_000;
const longestDelayMs = 300_000;
const forgivenAfterMs = 600_000;

/** The number of consecutive ends for the delay, after another end of a run of `ranMs` milliseconds. */
export function countEnd(endsBefore: number, ranMs: number): number {
  return ranMs >= forgivenAfterMs ? 1 : endsBefore + 1;
}

/** The delay before a restart, in milliseconds. The first restart is immediate. */
export function restartDelayMs(ends: number): number {
  if (ends <= 1) return 0;
  return Math.min(firstDelayMs * 2 ** Math.min(ends - 2, 30), longestDelayMs);
}
