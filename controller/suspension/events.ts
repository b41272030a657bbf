import type { KubeObject } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import type { NewEvent } from "../../kube/events/event-recorder.ts";
import { goDuration } from "../../lib/time/go-duration.ts";

const action = "Suspending";

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

/** Regards the Pod of an activator. */
export const unreachable = (regarding: KubeObject): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "ActivatorUnreachable",
  action,
  note: "the activator does not respond to the controller: no sandbox is suspended for inactivity until the activator responds, its Pod is gone or has not been Ready for 5m, or --activator-silence-limit has passed",
});

/** Regards a Pod. */
export const notAnActivator = (regarding: KubeObject): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "NotAnActivator",
  action,
  note: "the controller ignores this Pod: it has the labels of an activator, but not the service account in --activator-service-account",
});

/** Regards a sandbox whose Pod was captured or deleted although this number of activators had not answered. */
export const unaskedCut = (regarding: Sandbox, activators: number): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "SandboxWorkCut",
  action,
  note: `suspended without a response of ${activators} ${activators === 1 ? "activator" : "activators"}: any connections to the sandbox through ${activators === 1 ? "it" : "them"} are cut`,
});
