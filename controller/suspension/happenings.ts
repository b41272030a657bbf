import type { KubeObject } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Happening } from "../../kube/event-recorder.ts";
import { longestSilenceMs } from "./replies.ts";

const action = "Suspending";

/** What an event tells of a sandbox that nobody used for so long. */
export const idled = (regarding: Sandbox, forMs: number): Happening => ({
  regarding,
  type: "Normal",
  reason: "SandboxIdle",
  action,
  note: `idle for ${goDuration(forMs)}`,
});

export const calledOff = (regarding: Sandbox, why: string): Happening => ({
  regarding,
  type: "Normal",
  reason: "SuspensionCalledOff",
  action,
  note: `stays awake: ${why}`,
});

export const workCut = (regarding: Sandbox, cut: number, drainTimeoutSeconds: number): Happening => ({
  regarding,
  type: "Warning",
  reason: "SandboxWorkCut",
  action,
  note: `the time to drain (${goDuration(drainTimeoutSeconds * 1000)}) was over with ${cut} in flight`,
});

export const woken = (regarding: Sandbox, port: number): Happening => ({
  regarding,
  type: "Normal",
  reason: "SandboxWoken",
  action: "Waking",
  note: `connection to port ${port}`,
});

/** Told of the Pod of an activator. */
export const unreachable = (regarding: KubeObject): Happening => ({
  regarding,
  type: "Warning",
  reason: "ActivatorUnreachable",
  action,
  note: `does not answer the controller: no sandbox falls asleep for at most ${goDuration(longestSilenceMs)}`,
});

/** Whole seconds as the ecosystem's tools write them: `45s`, `5m0s`, `2h0m0s`. */
export function goDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours > 0) return `${hours}h${minutes % 60}m${seconds % 60}s`;
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}
