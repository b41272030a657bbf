import type { KubeObject } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import type { NewEvent } from "../../kube/events/event-recorder.ts";

const action = "Suspending";

/** The event about a sandbox that was idle for this long. */
export const idled = (regarding: Sandbox, forMs: number): NewEvent => ({
  regarding,
  type: "Normal",
  reason: "SandboxIdle",
  action,
  note: `idle for ${goDuration(forMs)}`,
});

/** Its workload answered neither an activator nor the controller, as where a NetworkPolicy keeps both out. */
export const unanswered = (regarding: Sandbox, limitSeconds: number): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "BusyProbeUnanswered",
  action,
  note: `busy probe got no response: the sandbox counts as busy for at most ${goDuration(limitSeconds * 1000)}`,
});

export const cancelled = (regarding: Sandbox, why: string): NewEvent => ({
  regarding,
  type: "Normal",
  reason: "SuspensionCancelled",
  action,
  note: `suspension cancelled: ${why}`,
});

export const causeNotRenewed = (regarding: Sandbox, why: string): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "AnnotationNotWritten",
  action,
  note: `could not write the annotation ${suspensionCauseAnnotation} again after an edit: ${why}`,
});

export const workCut = (regarding: Sandbox, cut: number, drainTimeoutSeconds: number): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "SandboxWorkCut",
  action,
  note: `drain timeout (${goDuration(drainTimeoutSeconds * 1000)}) reached: requests and connections that were cut: ${cut}`,
});

export const woken = (regarding: Sandbox, port: number): NewEvent => ({
  regarding,
  type: "Normal",
  reason: "SandboxWoken",
  action: "Waking",
  note: `woken by a connection to port ${port}`,
});

/** Regards the Pod of an activator. */
export const unreachable = (regarding: KubeObject): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "ActivatorUnreachable",
  action,
  note: "not responding to the controller: no sandbox is suspended for inactivity until it responds, its Pod is gone or not Ready for 5m, or --activator-silence-limit has passed",
});

/** Regards a Pod. */
export const notAnActivator = (regarding: KubeObject): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "NotAnActivator",
  action,
  note: "ignored: it has the labels of an activator, but not the service account in --activator-service-account",
});

/** Regards a sandbox whose Pod was deleted although this number of activators had not answered. */
export const unaskedCut = (regarding: Sandbox, activators: number): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "SandboxWorkCut",
  action,
  note: `Pod deleted without a response of ${activators} ${activators === 1 ? "activator" : "activators"}: any connections to the sandbox through ${activators === 1 ? "it" : "them"} were cut`,
});

/** Whole seconds in Go's duration format: `45s`, `5m0s`, `2h0m0s`. */
function goDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours > 0) return `${hours}h${minutes % 60}m${seconds % 60}s`;
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}
