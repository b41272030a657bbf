import type { ClaimReadyReason, ReasonOf, SandboxConditionType } from "../../api/rules/conditions.ts";

/** Where a reason appears, and its meaning for a reader of `kubectl describe`. */
interface Reason {
  readonly on: string;
  readonly means: string;
}

/** Reasons of events that the controller records. */
export const eventReasons: Readonly<Record<string, Reason>> = {
  ActivatorUnreachable: {
    on: "Pod of an activator",
    means: "It does not respond to the controller, and blocks suspension for inactivity until it responds or is gone.",
  },
  BusyProbeUnanswered: {
    on: "Sandbox",
    means: "Its busy probe got no response, so it counts as busy for at most busyProbe.limitSeconds.",
  },
  ClaimExpired: { on: "SandboxClaim", means: "Its lifetime is over; its shutdownPolicy says what happens next." },
  MultiplePods: { on: "Sandbox", means: "Several Pods belong to it. Nothing is done until one is left." },
  NetworkPolicyKept: {
    on: "NetworkPolicy",
    means: "Its SandboxTemplate is gone, and it stays until the last Pod that it selects has ended.",
  },
  NetworkPolicyNotWritten: {
    on: "SandboxTemplate; NetworkPolicy, Sandbox or Pod where the template is gone",
    means: "The NetworkPolicy of its Pods could not be written; the text names the cause.",
  },
  NetworkPolicyRestored: {
    on: "NetworkPolicy",
    means: "It was missing, and its SandboxTemplate is gone. The controller recreated it for the remaining Pods.",
  },
  NotAnActivator: {
    on: "Pod",
    means: "It has the labels of an activator but another service account, and is ignored.",
  },
  PodFailed: { on: "Sandbox", means: "Its Pod has failed." },
  PodSucceeded: { on: "Sandbox", means: "Its Pod has ended with success." },
  SandboxAdopted: { on: "SandboxClaim", means: "It was given a sandbox of a warm pool." },
  SandboxExpired: { on: "Sandbox", means: "Its shutdownTime has passed." },
  SandboxIdle: { on: "Sandbox", means: "It is suspended for inactivity; the text says for how long it was idle." },
  SandboxPodCreated: { on: "Sandbox", means: "Its Pod was created." },
  SandboxPodCreateFailed: { on: "Sandbox", means: "Its Pod could not be created; the text names the cause." },
  SandboxProvisioned: { on: "SandboxClaim", means: "A sandbox was created for it." },
  SandboxReady: { on: "Sandbox", means: "It became ready." },
  SandboxSuspended: { on: "Sandbox", means: "Its suspension is complete: its Pod is gone." },
  SandboxSuspensionFailed: { on: "Sandbox", means: "Its Pod could not be deleted; the text names the cause." },
  SandboxWoken: { on: "Sandbox", means: "A connection woke it; the text names the port." },
  SandboxWorkCut: {
    on: "Sandbox",
    means:
      "Its Pod was deleted with work in flight: at the drain timeout, or behind an activator that did not respond.",
  },
  SuspensionCalledOff: {
    on: "Sandbox",
    means: "A suspension for inactivity was cancelled; the text names the reason.",
  },
  TcpFrontNotWritten: {
    on: "Sandbox",
    means: "The EndpointSlice of its Service could not be written; the text names the cause.",
  },
  TcpFrontPortLimitExceeded: {
    on: "Sandbox",
    means:
      "Some of its ports cannot be reached by the name of its Service: a limit per sandbox or namespace is reached.",
  },
  TcpFrontPortsExhausted: {
    on: "Sandbox",
    means: "Some of its ports cannot be reached by the name of its Service: all activator ports are in use.",
  },
  UnreadableTime: {
    on: "Sandbox, SandboxClaim",
    means: "The API server accepted a malformed time in its spec; it is ignored.",
  },
  WarmPoolNotProgressing: { on: "SandboxWarmPool", means: "It makes no progress; the text names the obstacle." },
  WarmPoolProgressing: { on: "SandboxWarmPool", means: "It makes progress again." },
};

type Meanings<R extends string> = Readonly<Record<R, string>>;

/** Reasons of the conditions of a Sandbox, by the type of the condition. */
export const sandboxConditionReasons: { readonly [T in SandboxConditionType]: Meanings<ReasonOf<T>> } = {
  Ready: {
    DependenciesReady: "Its Pod is ready, and its Service exists.",
    DependenciesNotReady: "Its Pod or its Service is missing or not ready; the message names which.",
    SandboxSuspended: "It is suspended or being suspended.",
    SandboxExpired: "Its shutdownTime has passed.",
    PodSucceeded: "Its Pod has ended with success.",
    PodFailed: "Its Pod has failed.",
    MultiplePods: "Several Pods belong to it. Nothing is done until one is left.",
    InvalidConfiguration: "The API server rejects what it asks for. It is not retried until its spec changes.",
    ReconcilerError: "A reconcile failed; it is retried. The message names the error.",
  },
  Suspended: {
    PodTerminated: "Its Pod is gone.",
    PodTerminating: "Its Pod is being deleted.",
    NotSuspended: "It is not suspended.",
    PodNotOwned: "A Pod of its name exists that belongs to something else, and is left alone.",
    PodStateUnknown: "The state of its Pod could not be determined.",
  },
  Finished: { PodSucceeded: "Its Pod has ended with success.", PodFailed: "Its Pod has failed." },
  PodScheduled: {
    PodScheduled: "Its Pod has a node. Other reasons are those of the scheduler.",
    PodSchedulingUnknown: "It has no Pod, or the state of the Pod is unknown.",
  },
  ServicePortsAllocated: {
    SandboxPortLimitExceeded: "It has more ports than --tcp-front-ports-per-sandbox.",
    NamespacePortLimitExceeded: "Its namespace has reached --tcp-front-ports-per-namespace.",
    PortsExhausted: "All activator ports are in use.",
  },
  AutoSuspensionBlocked: {
    ActivatorUnreachable:
      "An activator does not respond, and may proxy connections to it: it is not suspended for inactivity.",
  },
};

/** Reasons of the condition Ready of a SandboxClaim, beside those of its Sandbox. */
export const claimReadyReasons: Meanings<ClaimReadyReason> = {
  TemplateNotFound: "Its SandboxTemplate does not exist.",
  WarmPoolNotFound: "Its SandboxWarmPool does not exist.",
  AdoptionConflict: "Another claim took the sandbox; it is retried with another.",
  SandboxCreatePending: "Its sandbox is being created.",
  InvalidMetadata: "Its additional labels or annotations are not permitted.",
  EnvVarsInjectionRejected: "The template does not permit the environment variables that it sets.",
  VolumeClaimTemplatesError: "The template does not permit the volumeClaimTemplates that it sets.",
  ClaimExpired: "Its lifetime is over.",
  SandboxExpired: "Its sandbox has expired.",
  SandboxMissing: "Its sandbox was deleted.",
  SandboxNotReady: "Its sandbox is not ready yet.",
  SandboxResuming: "Its sandbox is being resumed.",
  InvalidConfiguration: "The API server rejects what it asks for. It is not retried until its spec changes.",
  ReconcilerError: "A reconcile failed; it is retried. The message names the error.",
};
